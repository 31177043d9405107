// What the page shows, as arrays by row. A row holds a node of the target, of the bench, or matched ones of both; the
// sides are 0 and 1. Rows and the nodes of either side are in pre-order.
const graph = { ready: false };
const noLevel = 255;
const overflowNames = ['', 'medium', 'high', 'critical'];

function sideOf(columns, count) {
  const [names, kinds, levels, indices, overflows, micro, partners] = columns;
  return { names, kinds: Uint8Array.from(kinds), levels: Uint8Array.from(levels), indices,
    overflows: Uint8Array.from(overflows), micro, partners: Int32Array.from(partners), row: new Int32Array(count), lower: null };
}

// Parents, ends (the row behind the last descendant) and the nodes of the rows.
function linkRows(depths, flags) {
  const count = depths.length;
  graph.count = count;
  graph.depth = Uint32Array.from(depths);
  graph.parent = new Int32Array(count).fill(-1);
  graph.end = new Int32Array(count).fill(count);
  graph.node = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  const last = [];  // by depth
  const next = [0, 0];
  for (let row = 0; row < count; ++row) {
    const depth = depths[row];
    for (let k = depth; k < last.length; ++k) graph.end[last[k]] = row;
    last.length = depth;
    if (depth > 0) graph.parent[row] = last[depth - 1];
    last.push(row);
    for (let side = 0; side < 2; ++side) {
      if (!(flags[row] & (1 << side))) continue;
      graph.sides[side].row[next[side]] = row;
      graph.node[side][row] = next[side]++;
    }
  }
  graph.hasChild = [new Uint8Array(count), new Uint8Array(count)];
  for (let row = 1; row < count; ++row) {
    for (let side = 0; side < 2; ++side) {
      if (graph.node[side][row] >= 0 && graph.parent[row] >= 0) graph.hasChild[side][graph.parent[row]] = 1;
    }
  }
}

// Categories are what the filter asks for: the levels, then not compared, unmatched in the target, unmatched in the bench.
function categorise() {
  const { levels, count, node, sides } = graph;
  const notCompared = levels.length;
  const row1 = (row) => {
    const i = node[0][row], k = node[1][row];
    const target = i >= 0 ? i : sides[1].partners[k];
    if (i < 0 && target < 0) return notCompared + 2;
    if (graph.compared && i >= 0 && sides[0].partners[i] < 0) return notCompared + 1;
    const level = sides[0].levels[target];
    return level === noLevel ? notCompared : level;
  };
  graph.category = new Uint8Array(count);
  graph.overflow = new Uint8Array(count);
  const suspicious = [];
  graph.unmatched = [];
  graph.counts = new Array(levels.length + 3).fill(0);
  graph.overflowCounts = [0, 0, 0, 0];
  for (let row = 0; row < count; ++row) {
    const category = row1(row);
    graph.category[row] = category;
    graph.overflow[row] = Math.max(node[0][row] >= 0 ? sides[0].overflows[node[0][row]] : 0,
      node[1][row] >= 0 ? sides[1].overflows[node[1][row]] : 0);
    ++graph.overflowCounts[graph.overflow[row]];
    // The bench's twin of a node elsewhere stands for itself nowhere.
    if (node[0][row] < 0 && category !== notCompared + 2) continue;
    ++graph.counts[category];
    if (category > notCompared) graph.unmatched.push(row);
    const critical = node[0][row] >= 0 && sides[0].overflows[node[0][row]] === 3;
    if (critical || (category < notCompared && levels[category].suspicious)) {
      suspicious.push(row);
    }
  }
  // The worst heat in a box, which hides what is inside while it is closed.
  graph.inner = new Uint8Array(count);
  for (let row = count - 1; row > 0; --row) {
    const above = graph.parent[row];
    if (above >= 0) graph.inner[above] = Math.max(graph.inner[above], graph.inner[row], heatOf(row));
  }
  // A node with a suspicious one inside is suspicious because of that.
  graph.allSuspicious = suspicious;
  graph.suspicious = suspicious.filter((row, i) => i + 1 === suspicious.length || suspicious[i + 1] >= graph.end[row]);
}

// Of the row's own verdict.
function heatOf(row) {
  if (graph.overflow[row] === 3) return 4;
  return graph.category[row] < graph.levels.length ? graph.levels[graph.category[row]].heat : 0;
}

function microSteps() {
  graph.micro = new Int32Array(graph.count);
  for (let row = 0; row < graph.count; ++row) {
    const side = graph.node[0][row] >= 0 ? 0 : 1;
    const own = graph.sides[side].micro[graph.node[side][row]];
    graph.micro[row] = own >= 0 ? own : graph.parent[row] >= 0 ? graph.micro[graph.parent[row]] : -1;
  }
  return [...new Set(graph.micro)].filter((step) => step >= 0).sort((a, b) => a - b);
}

function takeModel(data) {
  const [titles, levels, metrics, chunk, depths, flags, target, bench] = data;
  graph.titles = titles;
  graph.levels = levels.map(([name, meaning, heat, suspicious]) => ({ name, meaning, heat, suspicious: suspicious === 1 }));
  graph.metrics = metrics.map(([name, meaning, field, column]) => ({ name, meaning, field, column }));
  graph.chunk = chunk;
  graph.compared = bench !== undefined;
  graph.sides = [sideOf(target, target[0].length), sideOf(bench || [[], [], [], [], [], [], []], bench ? bench[0].length : 0)];
  linkRows(depths, flags);
  categorise();
  graph.microSteps = microSteps();
}

const sideNames = ['target', 'bench'];
// The row's own side: the target's where there is one.
const mainSide = (row) => graph.node[0][row] >= 0 ? 0 : 1;
const nameOf = (side, row) => graph.sides[side].names[graph.node[side][row]];
const fullName = (row) => nameOf(mainSide(row), row);
const partnerOf = (side, row) => graph.sides[side].partners[graph.node[side][row]];
const isMatched = (side, row) => graph.node[side][row] >= 0 && partnerOf(side, row) >= 0;
// The row of a matched node's partner.
const partnerRow = (side, row) => graph.sides[1 - side].row[partnerOf(side, row)];
const isLeaf = (row) => graph.end[row] === row + 1;

// Control characters and those that turn the direction of text, as what they are.
const unseen = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const shown = (text) => text.replace(unseen, (c) => '\u27e8U+' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '\u27e9');

// The parts of a name that say something inside of its parent's box: { text, soft, direction, call }.
function labelOf(side, row) {
  const name = nameOf(side, row);
  const kind = graph.sides[side].kinds[graph.node[side][row]];
  const parts = name.split('.');
  const isCall = (text) => /^\d+$/.test(text);
  const isDirection = (text) => text === 'forward' || text === 'backward';
  if (kind === 2) return { text: name.replaceAll('_', ' ').replace('.', ' '), soft: '', direction: '', call: '' };
  const count = parts.length;
  if (kind === 1 && count > 3 && isDirection(parts[count - 1]) && isCall(parts[count - 2])) {
    return { text: parts.slice(1, -2).join('.'), soft: parts[0], direction: parts[count - 1], call: parts[count - 2] };
  }
  if (kind === 0 && count > 4 && isCall(parts[count - 1]) && isDirection(parts[count - 2])) {
    const own = parts.slice(1, -3);
    return { text: ownPath(side, row, own).join('.'), soft: parts[count - 3], direction: parts[count - 2], call: parts[count - 1] };
  }
  return { text: name, soft: '', direction: '', call: '' };
}

// The path of a module without that of the module around it.
function ownPath(side, row, path) {
  const above = graph.parent[row];
  if (above < 0 || graph.node[side][above] < 0) return path;
  const outer = nameOf(side, above).split('.').slice(1, -3);
  let same = 0;
  while (same < outer.length && same < path.length - 1 && outer[same] === path[same]) ++same;
  return same === outer.length ? path.slice(same) : path.slice(-1);
}

// Details of a node, from the chunk that holds them: { inputs, outputs, facts, suggestions, stack }.
const chunks = new Map();
// An element that the browser may not have come to yet.
const elementRead = (id) => document.readyState !== 'loading' ? Promise.resolve(document.getElementById(id)) :
  new Promise((resolve) => document.addEventListener('DOMContentLoaded', () => resolve(document.getElementById(id)), { once: true }));
function detailsOf(side, row) {
  const node = graph.node[side][row];
  const id = sideNames[side] + '-' + Math.floor(node / graph.chunk);
  if (!chunks.has(id)) {
    if (chunks.size > 40) chunks.delete(chunks.keys().next().value);
    chunks.set(id, elementRead(id).then((element) => unpacked(element.textContent)).then(JSON.parse));
  }
  return chunks.get(id).then(([fields, nodes]) => {
    const [inputs, outputs, facts, suggestions, stack] = nodes[node % graph.chunk];
    const parameter = ([name, level, list, ...values]) =>
      ({ name, level, values: new Map(fields[list].map((field, i) => [field, values[i]])) });
    return { inputs: inputs.map(parameter), outputs: outputs.map(parameter), facts, suggestions, stack };
  });
}
