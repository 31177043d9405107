// Search, filters and jumps.
const find = byId('find');

function search() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.words = words.join(' ');
  found.rows = [];
  view.found = words.length > 0 ? new Uint8Array(graph.count) : null;
  if (view.found) {
    for (const side of graph.sides) side.lower = side.lower || side.names.map((name) => name.toLowerCase());
    const holds = (side, node) => node >= 0 && words.every((word) => graph.sides[side].lower[node].includes(word));
    for (let row = 0; row < graph.count; ++row) {
      if (!holds(0, graph.node[0][row]) && !holds(1, graph.node[1][row])) continue;
      view.found[row] = 1;
      found.rows.push(row);
    }
  }
  showPositions();
  renderTabs();
  renderList();
  drawMap();
  render();
}

// The place of the selected row in a rising list, "3 of 12".
function position(rows) {
  const at = indexOf(rows, view.selected);
  return (rows[at] === view.selected ? (at + 1) + ' of ' : '') + rows.length;
}

// The first index whose row is not before row.
function indexOf(rows, row) {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle] < row) low = middle + 1; else high = middle;
  }
  return low;
}

function showPositions() {
  byId('found-count').textContent = view.found ? position(found.rows) + (found.rows.length === 1 ? ' match' : ' matches') : '';
  byId('bad-count').textContent = position(graph.suspicious);
  for (const id of ['found-previous', 'found-next']) byId(id).disabled = found.rows.length === 0;
  for (const id of ['bad-previous', 'bad-next']) byId(id).disabled = graph.suspicious.length === 0;
}

// To the next row of a rising list, behind the last to the first.
function jump(rows, forward, options) {
  if (rows.length === 0) return;
  const at = indexOf(rows, view.selected);
  const next = forward ? (rows[at] === view.selected ? at + 1 : at) : at - 1;
  select(rows[(next + rows.length) % rows.length], options);
}

function goToPartner() {
  if (view.selected < 0) return;
  const side = mainSide(view.selected);
  if (isMatched(side, view.selected)) select(partnerRow(side, view.selected), { focus: true });
}

// The filter: rows of the chosen kinds and what is around them.
const filter = { chosen: new Set(), overflows: new Set(), micro: '', before: null };
function applyFilter() {
  const byKind = filter.chosen.size + filter.overflows.size > 0;
  if (byKind && !filter.before) filter.before = view.open.slice();
  if (!byKind && filter.before) {
    view.open = filter.before;
    filter.before = null;
  }
  view.keep = byKind || filter.micro !== '' ? new Uint8Array(graph.count) : null;
  if (view.keep) {
    for (let row = 0; row < graph.count; ++row) {
      if (filter.micro !== '' && graph.micro[row] !== Number(filter.micro)) continue;
      if (byKind && !filter.chosen.has(graph.category[row]) && !filter.overflows.has(graph.overflow[row])) continue;
      view.keep[row] = 1;
      for (let above = graph.parent[row]; above >= 0 && !(view.keep[above] && (view.open[above] || !byKind)); above = graph.parent[above]) {
        view.keep[above] = 1;
        if (byKind) view.open[above] = 1;
      }
    }
  }
  refresh();
  drawMap();
}

function legendChip(words, count, className, title, set, value) {
  const chip = button('', title, () => {
    if (set.has(value)) set.delete(value); else set.add(value);
    chip.setAttribute('aria-pressed', String(set.has(value)));
    byId('show-all').hidden = filter.chosen.size + filter.overflows.size === 0;
    applyFilter();
  });
  chip.className = count === 0 ? 'chip empty' : 'chip';
  chip.dataset.kind = words;
  chip.setAttribute('aria-pressed', 'false');
  chip.append(made('span', 'swatch ' + className), words + ' ', made('span', 'soft', String(count)));
  return chip;
}

function makeLegend() {
  const legend = byId('legend');
  legend.append(made('span', 'soft', 'Show only'));
  const none = graph.levels.length;
  if (graph.compared) {
    graph.levels.forEach((level, i) => legend.append(legendChip(level.name, graph.counts[i], 'heat' + level.heat, level.meaning, filter.chosen, i)));
    legend.append(legendChip('not compared', graph.counts[none], 'plain', 'Matched nodes without a verdict', filter.chosen, none),
      legendChip('only in target', graph.counts[none + 1], 'unmatched', 'Nodes of the target without a partner', filter.chosen, none + 1),
      legendChip('only in bench', graph.counts[none + 2], 'unmatched', 'Nodes of the bench without a partner', filter.chosen, none + 2));
  }
  const hints = ['', 'NaN or Inf, expected or ignored by what follows', 'NaN or Inf in the inputs and the outputs', 'NaN or Inf begins here: the inputs are free of them'];
  for (let level = 3; level > 0; --level) {
    if (graph.overflowCounts[level] > 0) legend.append(legendChip('NaN/Inf ' + overflowNames[level], graph.overflowCounts[level], 'overflow' + level, hints[level], filter.overflows, level));
  }
  const all = button('Show all', 'Removes the filter', () => {
    filter.chosen.clear();
    filter.overflows.clear();
    legend.querySelectorAll('.chip').forEach((chip) => chip.setAttribute('aria-pressed', 'false'));
    all.hidden = true;
    applyFilter();
  });
  all.id = 'show-all';
  all.hidden = true;
  legend.append(all);
  if (legend.children.length < 3) legend.hidden = true;
}

function showSides(which) {
  view.sides = which;
  byId('sides').value = which;
  const heads = byId('heads');
  heads.replaceChildren(...shownSides().map((side) => {
    const head = made('div', 'head');
    head.append(made('b', '', graph.compared ? sideNames[side] : 'graph'), ' ', made('span', 'soft', shown(graph.titles[side])));
    head.title = shown(graph.titles[side]);
    return head;
  }));
  heads.hidden = !graph.compared && !graph.titles[0];
  byId('graph').classList.toggle('two', shownSides().length === 2);
  render();
}

function setAll(open) {
  view.open.fill(open ? 1 : 0);
  if (!open) openFirstLevels();
  refresh();
  if (view.selected >= 0 && view.place[view.selected] >= 0) select(view.selected);
  else scroller.scrollTop = 0;
}

// The root, and level by level as long as the rows are in sight together.
function openFirstLevels() {
  const fitting = Math.max(12, Math.floor(scroller.clientHeight / rowHeight));
  let level = [];
  for (let row = 0; row < graph.count; row = graph.end[row]) level.push(row);
  let visible = level.length;
  for (let first = true; level.length > 0; first = false) {
    const next = [];
    for (const row of level) {
      for (let child = row + 1; child < graph.end[row] && (first || visible + next.length <= fitting); child = graph.end[child]) next.push(child);
    }
    visible += next.length;
    if (!first && visible > fitting) return;
    for (const row of level) view.open[row] = 1;
    level = next;
  }
}
