// Keys, pointer and the beginning.
const keyTexts = [['\u2191 \u2193', 'previous and next visible node'], ['\u2192', 'expand, then the first child'], ['\u2190', 'collapse, then the parent'],
  ['Enter, Space', 'expand or collapse'], ['*', 'expand all below the node'], ['Home End PgUp PgDn', 'move further'],
  ['n p', 'next and previous suspicious node'], ['u Shift+U', 'next and previous unmatched node'], ['m', 'to the matched node, where it stands elsewhere'],
  ['/', 'search; Enter and Shift+Enter: next and previous match'], ['Esc', 'leave the search, and clear it'], ['?', 'this help']];

function fillHelp() {
  const table = made('table', 'keys');
  for (const [keys, words] of keyTexts) {
    const line = made('tr'), cell = made('td');
    cell.append(made('kbd', '', keys));
    line.append(cell, made('td', '', words));
    table.append(line);
  }
  const colors = made('dl', 'metrics');
  if (graph.compared) {
    for (const level of graph.levels) {
      const term = made('dt');
      term.append(made('span', 'tag heat' + level.heat, level.name));
      colors.append(term, made('dd', '', level.meaning + (level.suspicious ? ' (suspicious)' : '')));
    }
    const term = made('dt');
    term.append(made('span', 'tag unmatched', 'unmatched'));
    colors.append(term, made('dd', '', 'a node that has no partner on the other side'));
  }
  byId('help-text').replaceChildren(table, colors);
}

function moveTo(place) {
  if (view.count > 0) select(view.rows[Math.max(0, Math.min(view.count - 1, place))]);
}

// Keys in the tree; true if the key meant something.
function treeKey(key) {
  const row = view.selected, place = row >= 0 ? view.place[row] : -1;
  const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 1);
  const moves = { ArrowDown: place + 1, ArrowUp: Math.max(0, place - 1), Home: 0, End: view.count - 1, PageDown: place + page, PageUp: place - page };
  if (key in moves) {
    moveTo(moves[key]);
    return true;
  }
  if (row < 0) return false;
  if (key === 'ArrowRight') {
    if (!isLeaf(row) && !view.open[row]) setOpen(row, true); else if (!isLeaf(row)) moveTo(place + 1);
  } else if (key === 'ArrowLeft') {
    if (!isLeaf(row) && view.open[row]) setOpen(row, false); else if (graph.parent[row] >= 0) select(graph.parent[row]);
  } else if (key === 'Enter' || key === ' ') {
    setOpen(row, !view.open[row]);
  } else if (key === '*') {
    view.open.fill(1, row, graph.end[row]);
    refresh();
  } else {
    return false;
  }
  return true;
}

function pageKey(key) {
  const toTree = { focus: true };
  if (key === 'n') jump(graph.suspicious, true, toTree);
  else if (key === 'p') jump(graph.suspicious, false, toTree);
  else if (key === 'u') jump(graph.unmatched, true, toTree);
  else if (key === 'U') jump(graph.unmatched, false, toTree);
  else if (key === 'm') goToPartner();
  else if (key === '/') { find.focus(); find.select(); }
  else if (key === '?') byId('help').showModal();
  else return false;
  return true;
}

document.addEventListener('keydown', (event) => {
  if (!graph.ready || event.ctrlKey || event.altKey || event.metaKey || byId('help').open) return;
  const typing = event.target.closest && event.target.closest('input, select');
  if (typing) return;
  if ((event.target === scroller && treeKey(event.key)) || pageKey(event.key)) event.preventDefault();
});
find.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') {
    jump(found.rows, !event.shiftKey);
    event.preventDefault();
  } else if (event.key === 'Escape') {
    find.value = '';
    search();
    scroller.focus({ preventScroll: true });
    event.preventDefault();
  }
});

// A click on a caret or a second one on a box opens it, any click selects.
canvas.addEventListener('click', (event) => {
  const line = event.target.closest('.line');
  if (!line || !event.target.closest('.cell')) return;
  const row = Number(line.dataset.row);
  if (event.target.closest('.caret')) setOpen(row, !view.open[row]);
  select(row);
});
canvas.addEventListener('dblclick', (event) => {
  const line = event.target.closest('.line');
  if (line && event.target.closest('.cell') && !event.target.closest('.caret')) setOpen(Number(line.dataset.row), !view.open[Number(line.dataset.row)]);
});

let waiting = false;
scroller.addEventListener('scroll', () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; scrolled(); });
}, { passive: true });

// The panel's share of the room, in percent.
function resizePanel(share) {
  const percent = Math.max(15, Math.min(75, share));
  byId('work').style.setProperty('--panel', percent + '%');
  byId('splitter').setAttribute('aria-valuenow', Math.round(percent));
  render();
  drawMap();
  renderList();
}
byId('splitter').addEventListener('pointermove', (event) => {
  if (event.buttons !== 1) return;
  byId('splitter').setPointerCapture(event.pointerId);
  const work = byId('work').getBoundingClientRect();
  const below = getComputedStyle(byId('work')).getPropertyValue('--below').trim() === '1';
  resizePanel(below ? (work.bottom - event.clientY) / work.height * 100 : (work.right - event.clientX) / work.width * 100);
});
byId('splitter').addEventListener('keydown', (event) => {
  const step = { ArrowLeft: 3, ArrowUp: 3, ArrowRight: -3, ArrowDown: -3 }[event.key];
  if (step === undefined) return;
  resizePanel(Number(byId('splitter').getAttribute('aria-valuenow')) + step);
  event.preventDefault();
});

function listen() {
  find.addEventListener('input', search);
  byId('found-previous').addEventListener('click', () => jump(found.rows, false));
  byId('found-next').addEventListener('click', () => jump(found.rows, true));
  byId('bad-previous').addEventListener('click', () => jump(graph.suspicious, false));
  byId('bad-next').addEventListener('click', () => jump(graph.suspicious, true));
  byId('open-all').addEventListener('click', () => setAll(true));
  byId('close-all').addEventListener('click', () => setAll(false));
  byId('keys').addEventListener('click', () => byId('help').showModal());
  byId('sides').addEventListener('change', () => showSides(byId('sides').value));
  byId('micro').addEventListener('change', () => { filter.micro = byId('micro').value; applyFilter(); });
  new ResizeObserver(() => {
    byId('heads').style.paddingRight = scroller.offsetWidth - scroller.clientWidth + 'px';
    render();
    drawMap();
    renderList();
  }).observe(scroller);
  document.addEventListener('themechange', drawMap);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawMap);
  // On paper there is no scrolling: what is open is written down, as far as that is sensible.
  window.addEventListener('beforeprint', () => { view.frozen = true; render(); });
  window.addEventListener('afterprint', () => { view.frozen = false; refresh(); });
}

// The node whose name stands behind "#" in the address.
function showAddressed() {
  let name = '';
  try { name = decodeURIComponent(location.hash.slice(1)); } catch { /* not one of ours */ }
  for (let side = 0; name && side < 2; ++side) {
    const node = graph.sides[side].names.indexOf(name);
    if (node >= 0) return select(graph.sides[side].row[node]);
  }
}

async function start() {
  takeModel(JSON.parse(await unpacked(byId('graph-data').textContent)));
  byId('graph-data').remove();
  view.open = new Uint8Array(graph.count);
  view.rows = new Int32Array(graph.count);
  view.place = new Int32Array(graph.count);
  view.top = new Float64Array(graph.count);
  view.bottom = new Float64Array(graph.count);
  graph.ready = true;
  openFirstLevels();
  byId('sides').hidden = !graph.compared;
  byId('bad').hidden = graph.suspicious.length === 0 && !graph.compared;
  byId('micro').hidden = graph.microSteps.length < 2;
  for (const step of graph.microSteps) byId('micro').append(new Option('micro step ' + step, step));
  makeLegend();
  fillHelp();
  listen();
  layOut();
  showSides(graph.compared && innerWidth < 700 ? 'target' : 'both');
  drawMap();
  renderTabs();
  showOverview();
  showPositions();
  showAddressed();
  document.documentElement.dataset.ready = String(graph.count);
  document.documentElement.dataset.milliseconds = String(Math.round(performance.now()));
}
start().catch((error) => {
  canvas.replaceChildren(made('p', 'soft', 'This browser cannot unpack the graph: ' + error.message));
});
