// The boxes: which rows are visible, where they lie, and those of them that are in sight as elements.
const paperWidth = 700, paperRows = 2000;
const tallest = 15e6;  // pixels; browsers show no taller elements
const rowHeight = 30, boxHeight = 26, boxPadding = 6, overscan = 8;
const leastStep = 3;  // pixels between the edges of boxes around what is in sight; of closer ones the innermost is drawn
const firstCrumbs = 3, lastCrumbs = 12;
const view = { open: null, keep: null, rows: null, top: null, bottom: null, place: null, count: 0, height: 0, factor: 1, deepest: 0,
  selected: -1, found: null, sides: 'both', frozen: false, first: 0, last: 0, crumbs: -2 };
const byId = (id) => document.getElementById(id);
const scroller = byId('scroller'), canvas = byId('canvas');

function made(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// Rows are above each other; a box that is open encloses those of its children.
function layOut() {
  const { end, depth, count } = graph;
  const open = [];
  let y = 4, visible = 0;
  view.deepest = 0;
  view.place.fill(-1);
  const close = (row) => {
    while (open.length > 0 && end[view.rows[open[open.length - 1]]] <= row) {
      view.bottom[open.pop()] = y + boxPadding - (rowHeight - boxHeight);
      y += boxPadding;
    }
  };
  for (let row = 0; row < count;) {
    close(row);
    if (view.keep && !view.keep[row]) {
      row = end[row];
      continue;
    }
    view.rows[visible] = row;
    view.place[row] = visible;
    view.top[visible] = y;
    view.bottom[visible] = y + boxHeight;
    if (depth[row] > view.deepest) view.deepest = depth[row];
    y += rowHeight;
    if (view.open[row] && !isLeaf(row)) {
      open.push(visible);
      ++row;
    } else {
      row = end[row];
    }
    ++visible;
  }
  close(count);
  view.count = visible;
  view.height = y + 4;
  const sight = scroller.clientHeight;
  view.factor = view.height > tallest ? (view.height - sight) / (tallest - sight) : 1;
  canvas.style.height = Math.min(view.height, tallest) + 'px';
}

// What is in sight, as rows have their places. Very many rows are passed faster than the scroll bar moves.
const topInSight = () => scroller.scrollTop * view.factor;
const scrollToTop = (y) => { scroller.scrollTop = Math.max(0, y) / view.factor; };
const toScreen = (y) => (y + (view.frozen ? 0 : scroller.scrollTop - topInSight())) + 'px';

// The first visible row that ends below y.
function placeAt(y) {
  let low = 0, high = view.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.top[middle] + rowHeight <= y) low = middle + 1; else high = middle;
  }
  return Math.min(low, Math.max(view.count - 1, 0));
}

const shownSides = () => !graph.compared || view.sides === 'target' ? [0] : view.sides === 'bench' ? [1] : [0, 1];

// Left edges and widths; boxes become narrower with their depth, and less so the deeper the visible ones lie.
function geometry() {
  const sides = shownSides();
  const share = 100 / sides.length;
  const width = (view.frozen ? paperWidth : scroller.clientWidth) / sides.length;
  const room = Math.max(40, width - Math.min(230, width * .55));
  const step = Math.min(14, room / Math.max(1, view.deepest));
  const indent = (depth) => 8 + Math.min(room, depth * step);
  const margins = (depth) => indent(depth) + 8 + Math.min(24, depth * Math.min(4, step / 3));
  return { sides, indent, roomy: (depth) => width - margins(depth) > 260, put: (element, i, depth) => {
    element.style.left = 'calc(' + i * share + '% + ' + indent(depth) + 'px)';
    element.style.width = 'calc(' + share + '% - ' + margins(depth) + 'px)';
  } };
}

function ownHeatClass(side, row) {
  const own = graph.sides[side], node = graph.node[side][row];
  if (own.overflows[node] === 3) return ' heat4';
  if (graph.compared && own.partners[node] < 0) return ' unmatched';
  const target = side === 0 ? node : own.partners[node];
  const level = target < 0 ? noLevel : graph.sides[0].levels[target];
  return level === noLevel ? '' : ' heat' + graph.levels[level].heat;
}

// A closed box is as bad as the worst that it hides.
const isHiding = (row) => !view.open[row] && !isLeaf(row) && graph.inner[row] > heatOf(row);
const heatClass = (side, row) => isHiding(row) ? ' heat' + graph.inner[row] : ownHeatClass(side, row);

function boxOf(side, i, place, lines) {
  const row = view.rows[place], depth = graph.depth[row];
  const enclosing = view.open[row] && !isLeaf(row) && graph.hasChild[side][row];
  const box = made('div', 'box' + heatClass(side, row) + (enclosing ? ' enclosing' : '') + (row === view.selected ? ' selected' : ''));
  lines.put(box, i, depth);
  // No box is much taller than the screen.
  const spare = view.frozen ? Infinity : 2000;
  const top = Math.max(view.top[place], topInSight() - spare);
  const bottom = enclosing ? Math.min(view.bottom[place], topInSight() + scroller.clientHeight + spare) : top + boxHeight;
  box.style.top = toScreen(top);
  box.style.height = bottom - top + 'px';
  return box;
}

function tagsOf(side, row) {
  const own = graph.sides[side], node = graph.node[side][row];
  const tags = [];
  const overflow = own.overflows[node];
  if (overflow > 0) tags.push(['tag overflow' + overflow, 'NaN/Inf ' + overflowNames[overflow]]);
  if (graph.compared && own.partners[node] < 0) tags.push(['tag soft', 'unmatched']);
  else if (graph.compared && partnerRow(side, row) !== row) tags.push(['tag soft', 'matched elsewhere']);
  if (isHiding(row)) tags.push(['tag value inside', (graph.levels.find((level) => level.heat === graph.inner[row]) || { name: 'NaN/Inf' }).name + ' inside']);
  if (side === 0 && own.levels[node] !== noLevel && graph.levels[own.levels[node]].heat > 0) {
    tags.push(['tag value', graph.levels[own.levels[node]].name]);
  }
  return tags;
}

function cellOf(side, i, place, lines) {
  const row = view.rows[place], depth = graph.depth[row];
  const cell = made('div', 'cell' + heatClass(side, row));
  cell.setAttribute('role', 'gridcell');
  cell.dataset.side = side;
  lines.put(cell, i, depth);
  cell.title = shown(nameOf(side, row));
  const caret = made('span', 'caret', graph.hasChild[side][row] ? (view.open[row] ? '\u25be' : '\u25b8') : '');
  caret.setAttribute('aria-hidden', 'true');
  const label = labelOf(side, row);
  const text = made('span', 'name', shown(label.text));
  text.dir = 'ltr';
  cell.append(caret, text);
  if (label.soft && lines.roomy(depth)) cell.append(made('span', 'soft class', shown(label.soft)));
  if (label.call && label.call !== '0') cell.append(made('span', 'soft', '#' + label.call));
  if (label.direction === 'backward') cell.append(made('span', 'tag direction', 'backward'));
  const tags = made('span', 'tags');
  for (const [className, words] of tagsOf(side, row)) tags.append(made('span', className, words));
  cell.append(tags);
  return cell;
}

function lineOf(place, lines) {
  const row = view.rows[place];
  const line = made('div', 'line' + (row === view.selected ? ' selected' : '') + (view.found && view.found[row] ? ' found' : ''));
  line.id = 'row-' + row;
  line.dataset.row = row;
  line.setAttribute('role', 'row');
  line.setAttribute('aria-level', graph.depth[row] + 1);
  line.setAttribute('aria-rowindex', place + 1);
  line.setAttribute('aria-selected', String(row === view.selected));
  if (!isLeaf(row)) line.setAttribute('aria-expanded', String(view.open[row] === 1));
  line.style.top = toScreen(view.top[place]);
  lines.sides.forEach((side, i) => {
    if (graph.node[side][row] >= 0) line.append(cellOf(side, i, place, lines));
  });
  return line;
}

// While what comes into sight has its elements, nothing is made.
function scrolled() {
  const margin = 3;
  const first = placeAt(topInSight()), last = placeAt(topInSight() + scroller.clientHeight);
  if (view.factor > 1 || (first - margin < view.first && view.first > 0) || (last + margin > view.last && view.last < view.count)) return render();
  renderCrumbs();
  drawFrame();
}

// Makes the elements of what is in sight; all others are not in the document.
function render() {
  if (!graph.ready) return;
  const lines = geometry();
  const begin = Math.max(0, placeAt(topInSight()) - overscan);
  const until = view.frozen ? Math.min(view.count, paperRows) : placeAt(topInSight() + scroller.clientHeight) + overscan + 1;
  const first = view.frozen ? 0 : begin;
  const last = Math.min(view.count, until);
  view.first = first;
  view.last = last;
  const boxes = document.createDocumentFragment(), rows = document.createDocumentFragment();
  const enclose = (place) => lines.sides.forEach((side, i) => {
    if (graph.node[side][view.rows[place]] >= 0) boxes.append(boxOf(side, i, place, lines));
  });
  const above = [];
  let edge = Infinity;
  if (first < view.count) {
    for (let row = graph.parent[view.rows[first]]; row >= 0; row = graph.parent[row]) {
      const left = lines.indent(graph.depth[row]);
      if (edge - left < leastStep) continue;
      above.push(view.place[row]);
      edge = left;
    }
  }
  above.reverse().forEach(enclose);
  for (let place = first; place < last; ++place) {
    enclose(place);
    rows.append(lineOf(place, lines));
  }
  canvas.replaceChildren(boxes, rows);
  // Paper ends with the last row that is written down, and says so.
  if (view.frozen && last < view.count) {
    canvas.style.height = view.top[last] + 2 * rowHeight + 'px';
    const more = made('p', 'soft', view.count - last + ' further rows are not printed.');
    more.style.top = view.top[last] + 'px';
    more.style.position = 'absolute';
    canvas.append(more);
  }
  if (view.count === 0) canvas.append(made('p', 'soft', 'No node fits these filters.'));
  scroller.setAttribute('aria-rowcount', view.count);
  if (view.selected >= 0 && byId('row-' + view.selected)) scroller.setAttribute('aria-activedescendant', 'row-' + view.selected);
  else scroller.removeAttribute('aria-activedescendant');
  renderCrumbs();
  drawFrame();
}

// The boxes around the first row in sight.
function renderCrumbs() {
  const crumbs = byId('crumbs');
  const path = [];
  const inner = view.count > 0 ? graph.parent[view.rows[placeAt(topInSight() + 4)]] : -1;
  if (inner === view.crumbs) return;
  view.crumbs = inner;
  for (let row = inner; row >= 0; row = graph.parent[row]) path.push(row);
  path.reverse();
  const left = path.length > firstCrumbs + lastCrumbs + 1 ? path.splice(firstCrumbs, path.length - firstCrumbs - lastCrumbs) : [];
  crumbs.replaceChildren(...path.map((row) => {
    const button = made('button', '', shown(labelOf(mainSide(row), row).text));
    button.type = 'button';
    button.title = shown(fullName(row));
    button.addEventListener('click', () => select(row));
    return button;
  }));
  if (left.length > 0) crumbs.children[firstCrumbs].before(made('span', 'soft', '\u203a \u2026 ' + left.length + ' more \u203a'));
  if (path.length === 0) crumbs.append(made('span', 'soft', '\u00a0'));
  crumbs.scrollLeft = crumbs.scrollWidth;
}

function refresh() {
  layOut();
  render();
}

// Opens or closes a row and keeps it where it is.
function setOpen(row, open) {
  if (isLeaf(row) || view.open[row] === Number(open)) return;
  view.open[row] = open ? 1 : 0;
  // What is opened with one child alone opens on.
  for (let inner = row + 1; open && inner < graph.count && graph.end[inner] === graph.end[row] && !isLeaf(inner); ++inner) view.open[inner] = 1;
  refresh();
}

function reveal(row) {
  let changed = false;
  for (let above = graph.parent[row]; above >= 0; above = graph.parent[above]) {
    if (!view.open[above]) changed = true;
    view.open[above] = 1;
  }
  if (view.keep && !view.keep[row]) {
    for (let above = row; above >= 0; above = graph.parent[above]) view.keep[above] = 1;
    changed = true;
  }
  if (changed || view.place[row] < 0) layOut();
}

function select(row, { focus = false } = {}) {
  if (row < 0 || row >= graph.count) return;
  if (view.sides !== 'both' && graph.compared && graph.node[view.sides === 'target' ? 0 : 1][row] < 0) showSides('both');
  view.selected = row;
  reveal(row);
  const top = view.top[view.place[row]];
  if (top < topInSight() + 8 || top + rowHeight > topInSight() + scroller.clientHeight - 8) scrollToTop(top - scroller.clientHeight / 3);
  render();
  markEntries();
  showNode(row);
  showPositions();
  try { history.replaceState(null, '', '#' + encodeURIComponent(fullName(row))); } catch { /* some viewers allow no address */ }
  if (focus) scroller.focus({ preventScroll: true });
}
