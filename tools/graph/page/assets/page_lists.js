// Lists of nodes in the panel: suspicious ones, unmatched ones, what the search found. Only entries in sight are
// elements.
const entryHeight = 30;
const list = byId('list');
const tabs = { names: ['node', 'suspicious', 'unmatched', 'found'], titles: { node: 'Node', suspicious: 'Suspicious', unmatched: 'Unmatched', found: 'Found' },
  open: 'node', order: 0 };
const orders = ['In order of execution', 'Worst first', 'With what is around them'];
const found = { rows: [], words: '' };

function rowsOf(name) {
  if (name === 'found') return found.rows;
  if (name === 'unmatched') return graph.unmatched;
  if (tabs.order !== 1) return tabs.order === 0 ? graph.suspicious : graph.allSuspicious;
  const badness = (row) => graph.overflow[row] * 10 + (graph.sides[0].levels[graph.node[0][row]] === noLevel ? 0 : graph.levels[graph.sides[0].levels[graph.node[0][row]]].heat);
  const index = (row) => graph.sides[0].indices[graph.node[0][row]] || 0;
  return [...graph.suspicious].sort((a, b) => badness(b) - badness(a) || index(b) - index(a) || a - b);
}

function renderTabs() {
  const shownTabs = tabs.names.filter((name) => name === 'node' || name === 'suspicious' || (name === 'unmatched' && graph.compared) || (name === 'found' && found.words));
  if (!shownTabs.includes(tabs.open)) tabs.open = 'node';
  byId('tabs').replaceChildren(...shownTabs.map((name) => {
    const tab = button(tabs.titles[name] + (name === 'node' ? '' : ' ' + rowsOf(name).length), '', () => openTab(name));
    tab.id = 'tab-' + name;
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', String(name === tabs.open));
    tab.setAttribute('aria-controls', name === 'node' ? 'details' : 'list');
    tab.tabIndex = name === tabs.open ? 0 : -1;
    return tab;
  }));
}

// A list stands above the details of the node that was chosen in it.
function openTab(name) {
  tabs.open = name;
  renderTabs();
  list.hidden = name === 'node';
  list.setAttribute('aria-labelledby', 'tab-' + name);
  if (name !== 'node') {
    list.scrollTop = 0;
    renderList();
  }
}

function entryOf(rows, i) {
  const row = rows[i];
  const side = mainSide(row);
  const entry = button('', shown(fullName(row)), () => select(row));
  entry.dataset.row = row;
  entry.className = 'entry' + ownHeatClass(side, row) + (row === view.selected ? ' selected' : '');
  entry.style.top = (i * entryHeight + (tabs.open === 'suspicious' ? 36 : 4)) + 'px';
  const name = made('span', 'name', shown(fullName(row)));
  name.dir = 'ltr';
  entry.append(name);
  const tags = made('span', 'tags');
  if (graph.compared && !isMatched(side, row)) tags.append(made('span', 'tag soft', 'only in the ' + sideNames[side]));
  else for (const [className, words] of tagsOf(side, row)) tags.append(made('span', className, words));
  entry.append(tags);
  return entry;
}

function markEntries() {
  for (const entry of list.querySelectorAll('.entry')) entry.classList.toggle('selected', Number(entry.dataset.row) === view.selected);
}

function renderList() {
  if (tabs.open === 'node' || list.hidden) return;
  const rows = rowsOf(tabs.open);
  const first = Math.max(0, Math.floor(list.scrollTop / entryHeight) - 8);
  const last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / entryHeight) + 8);
  const sheet = made('div', 'sheet');
  sheet.style.height = (rows.length * entryHeight + 44) + 'px';
  if (tabs.open === 'suspicious' && rows.length > 0) {
    const choice = made('select');
    choice.setAttribute('aria-label', 'Order of the list');
    orders.forEach((words, i) => choice.append(new Option(words, i, false, i === tabs.order)));
    choice.addEventListener('change', () => {
      tabs.order = Number(choice.value);
      renderTabs();
      renderList();
      list.querySelector('select').focus();
    });
    sheet.append(choice);
  }
  for (let i = first; i < last; ++i) sheet.append(entryOf(rows, i));
  if (rows.length === 0) sheet.append(made('p', 'soft', tabs.open === 'found' ? 'No name holds these words.' : 'None.'));
  list.replaceChildren(sheet);
}

list.addEventListener('scroll', () => requestAnimationFrame(() => {
  const held = list.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
  renderList();
  if (held === undefined) return;
  (list.querySelector('.entry[data-row="' + held + '"]') || list).focus({ preventScroll: true });
}));
list.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  if (event.target.tagName === 'SELECT') return;
  const entries = [...list.querySelectorAll('.entry')];
  const next = entries[entries.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1)];
  if (next) next.focus();
  event.preventDefault();
});
byId('tabs').addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
  const all = [...byId('tabs').children];
  const next = all[(all.indexOf(document.activeElement) + (event.key === 'ArrowRight' ? 1 : all.length - 1)) % all.length];
  openTab(next.id.slice(4));
  byId(next.id).focus();
  event.preventDefault();
});
