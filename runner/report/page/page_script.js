'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const rows = data.rows;
const count = rows.standing.length;
const meanings = {
  s: ['suspicious', 'Suspicious'], u: ['not the same', 'Not the same each time'], f: ['failed to run', 'Failed to run'],
  m: ['proves little', 'Proves little'], r: ['rounding', 'Explained by rounding'], p: ['pass', 'Pass'],
  c: ['not checkable', 'Cannot be checked'], k: ['by rule', 'Left out by rule'] };
const order = 'sufmrpck';
const statuses = { p: 'pass', w: 'warning', e: 'error', k: 'SKIP', '-': '' };

// Elements. Foreign text is only ever set as text.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'onclick') element.addEventListener('click', value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== ''));
  return element;
}
function shape(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const commas = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');
const plural = (number, noun) => commas(number) + ' ' + noun + (number === 1 ? '' : 's');
const content = (id) => document.querySelector('#' + id + ' .content');
const chip = (letter) => make('span', { class: 'chip ' + letter }, meanings[letter][0]);
const statusText = (letter) => make('span', { class: 'status-' + letter }, statuses[letter]);

// Columns of numbers become calls. What is said of a call is made when it is shown: there may be very many.
const indices = new Float64Array(count);
{
  const next = new Float64Array(rows.apis.length);
  for (let i = 0; i < count; ++i) {
    const api = rows.api[i];
    indices[i] = next[api] + rows.index[i];
    if (rows.odd[i] === undefined) next[api] = indices[i] + 1;
  }
}
const nameOf = (row) => rows.odd[row] ?? rows.apis[rows.api[row]] + '.' + indices[row];
const rowOf = (name) => {
  for (let i = 0; i < count; ++i) if (nameOf(i) === name) return i;
  return undefined;
};
// Rows by standing, in the order of the run.
const rowsOf = {};
for (const letter of order) rowsOf[letter] = [];
for (let i = 0; i < count; ++i) rowsOf[rows.standing[i]].push(i);
const totals = Object.fromEntries([...order].map((letter) => [letter, rowsOf[letter].length]));
const apiOf = (row) => rows.apis[rows.api[row]];
const dtypeOf = (row) => rows.dtypes[rows.dtype[row]];
const shapeOf = (row) => rows.shapes[rows.shape[row]];
const noteOf = (row) => rows.note[row] ? rows.notes[rows.note[row] - 1] : '';
const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
// The exponent of the smallest fault that would have shown; null where it is not known.
const visibleOf = (row) => rows.visible[row] === '.' ? null : letters.indexOf(rows.visible[row]) - 59;
const duration = (seconds) => {
  if (seconds >= 60) return Math.floor(seconds / 60) + ' min ' + Math.round(seconds % 60) + ' s';
  if (seconds >= 1) return Number(seconds.toPrecision(3)) + ' s';
  if (seconds >= 0.001) return Number((seconds * 1e3).toPrecision(3)) + ' ms';
  return Math.round(seconds * 1e6) + ' \u00b5s';
};
const tookText = (row) => rows.took[row] ? duration(rows.took[row] / 1e5) : '';
const relativeText = (exponent) => {
  const value = 2 ** exponent;
  return value >= 0.001 ? Number((value * 100).toPrecision(2)) + ' %' : value.toExponential(0);
};

const small = (value) => value < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(2)));

// A word of a shell's command line.
const quoted = (word) => /^[\w@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";

function command(what, line) {
  const button = make('button', { type: 'button', onclick: () => {
    const done = () => { button.textContent = 'Copied'; setTimeout(() => { button.textContent = 'Copy'; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(line).then(done, () => select(code));
    else select(code);
  } }, 'Copy');
  const code = make('code', {}, line);
  return make('div', { class: 'command' }, make('span', { class: 'what' }, what), code, button);
}
function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}
function commandsOf(row, details) {
  const list = make('div', { class: 'commands' });
  const name = quoted(nameOf(row));
  const known = data.commands;
  if (known.run) list.append(command('Check it again', known.run + ' --only ' + name));
  if (known.is_dump) {
    const backward = details && details.output.startsWith('backward') ? ' --propagation backward' : '';
    list.append(command('As a script', 'msrun op_generate --api ' + name + backward + ' -i ' + known.recording + ' -o scripts'));
  }
  if (data.journal && 'su'.includes(rows.standing[row])) {
    list.append(command('Smallest case', 'msrun shrink --api ' + name + ' -i ' + known.journal + ' -o small'));
  }
  return list;
}

// Where an output is wrong: a cell for each character of the picture.
function mapOf(difference) {
  const lines = difference.picture;
  const cell = 12, gap = 1;
  const width = Math.max(...lines.map((line) => line.length));
  const kinds = { '.': 'map-none', '+': 'map-some', '#': 'map-most' };
  const svg = shape('svg', { class: 'map', role: 'img', 'aria-label': difference.legend, width: width * (cell + gap), height: lines.length * (cell + gap),
    viewBox: '0 0 ' + width * (cell + gap) + ' ' + lines.length * (cell + gap) });
  lines.forEach((line, y) => [...line].forEach((character, x) => {
    svg.append(shape('rect', { class: kinds[character] || 'map-none', x: x * (cell + gap), y: y * (cell + gap), width: cell, height: cell, rx: 2 }));
  }));
  const key = make('p', { class: 'legend' });
  for (const [color, text] of [['none', 'none wrong'], ['some', 'some'], ['most', 'at least half']]) {
    key.append(make('i', { style: 'background: var(--' + color + ')' }), text);
  }
  const scale = difference.legend.split(':')[0].replace('one character', 'one square');
  return make('div', {}, make('h3', {}, 'Where it is wrong'), svg, key,
    make('p', { class: 'legend' }, scale + '; ' + commas(difference.wrong) + ' of ' + commas(difference.elements) + ' elements are wrong' +
      (difference.place ? ', at ' + difference.place : '')));
}

// Elements by the size of their error: numbers by powers of two, bars by the logarithm of the count.
function histogram(title, sizes, ticks, zeroes, last, bound, boundText) {
  if (!sizes.length) return null;
  const width = 330, height = 120, left = 6, bottom = 22, top = 16;
  const placeOf = (log) => zeroes + log + 1;  // a bin holds what is up to its power of two
  const used = sizes.map(([i]) => i);
  let from = Math.min(...used), to = Math.max(...used) + 1;
  if (bound !== null) { from = Math.min(from, Math.floor(bound) - 1); to = Math.max(to, Math.ceil(bound) + 1); }
  from = Math.max(0, from - 1); to = Math.min(last + 1, to + 1);
  const x = (place) => left + (place - from) / (to - from) * (width - 2 * left);
  // A text of this many letters in the middle of which is `at`, or as near as it may be without being cut off.
  const inside = (at, letters) => Math.min(Math.max(at, 3 * letters), width - 3 * letters);
  const most = Math.log10(Math.max(...sizes.map(([, n]) => n)) + 1);
  const svg = shape('svg', { class: 'histogram', role: 'img', 'aria-label': title, width, height, viewBox: '0 0 ' + width + ' ' + height });
  for (const [i, n] of sizes) {
    const h = Math.max(2, Math.log10(n + 1) / most * (height - bottom - top));
    const kind = bound === null ? 'plain' : i + 0.5 > bound ? 'outside' : 'inside';
    svg.append(shape('rect', { class: kind, x: x(i) + 0.5, y: height - bottom - h, width: Math.max(1, x(i + 1) - x(i) - 1), height: h },
      shape('title', {}, commas(n) + ' elements: ' + (i === 0 ? 'no error' : i === last ? 'more, or no number' : 'up to 2^' + (i - zeroes - 1)))));
  }
  svg.append(shape('line', { class: 'axis', x1: left, x2: width - left, y1: height - bottom, y2: height - bottom }));
  let labelled = -1e9, firstLabel = 1e9;
  for (const [log, text] of ticks) {
    const at = x(placeOf(log) + 1);
    if (at < left || at > width - left || at - labelled < 34) continue;
    labelled = at;
    firstLabel = Math.min(firstLabel, at);
    svg.append(shape('text', { x: inside(at, text.length), y: height - 7, 'text-anchor': 'middle' }, text));
  }
  if (from === 0 && used.includes(0) && firstLabel - x(0.5) > 26) svg.append(shape('text', { x: x(0.5), y: height - 7, 'text-anchor': 'middle' }, '0'));
  if (bound !== null) {
    const at = x(bound);
    svg.append(shape('line', { class: 'bound', x1: at, x2: at, y1: top - 4, y2: height - bottom }),
      shape('text', { class: 'bound-text', x: inside(at, boundText.length), y: 9, 'text-anchor': 'middle' }, boundText));
  }
  return make('div', {}, make('h3', {}, title), svg);
}
const epsilons = { float64: -52, float32: -23, float16: -10, bfloat16: -7, complex64: -23, complex128: -52 };
function histogramsOf(row) {
  const { relative, ulps, explained } = row.difference;
  const log = explained > 0 ? Math.log2(explained) : null;
  const powers = [];
  for (let k = -15; k <= 1; ++k) powers.push([k * Math.log2(10), '1e' + k]);
  const first = histogram('Relative error of the elements', relative, powers, 52, 58, log === null ? null : log + 52 + 2, 'explained by rounding');
  const epsilon = epsilons[row.device.replace('torch.', '')];
  const ulpLog = log === null || epsilon === undefined ? null : Math.max(-1, log - epsilon + 0.4);
  const ulpTicks = [0, 4, 8, 12, 16].map((k) => [k, commas(2 ** k)]);
  const second = histogram('Error in units in the last place (ULP)', ulps, ulpTicks, 0, 22, ulpLog === null ? null : ulpLog + 2, 'explained by rounding');
  const legend = make('p', { class: 'legend' }, 'Heights are logarithms of the number of elements' +
    (log === null ? '.' : '; the line is what rounding explains of a typical element.'));
  if (!first && !second) return '';
  return make('div', { class: 'histograms' }, first, second, legend);
}

function tableOf(titles, lines, kinds = []) {
  const head = make('tr', {}, ...titles.map((title, i) => make('th', { class: kinds[i] }, title)));
  const body = lines.map(({ cells, failed }) => make('tr', { class: failed ? 'failed' : undefined },
    ...cells.map((cell, i) => make('td', { class: kinds[i] }, cell))));
  return make('div', { class: 'scroll' }, make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)));
}

function outputOf(row) {
  const letter = { pass: 'p', warning: 'w', error: 'e', SKIP: 'k' }[row.status];
  const box = make('div', { class: 'output' },
    make('div', { class: 'line' }, make('strong', {}, row.name), statusText(letter),
      row.beyond ? make('span', { class: 'chip s' }, 'beyond rounding') : row.rounding ? make('span', { class: 'chip r' }, 'explained by rounding') : '',
      make('span', { class: 'soft' }, row.device.replace('torch.', '').trim() + ' ' + row.shape.trim()),
      make('span', { class: 'soft' }, row.bench.trim() ? 'benchmark in ' + row.bench.replace('torch.', '').trim() : '')));
  const columns = make('div', { class: 'columns' });
  if (row.metrics && row.metrics.length) {
    const known = row.metrics.filter(([, value]) => value !== '');
    columns.append(make('div', { class: 'metrics' }, make('h3', {}, 'Metrics'), tableOf(['Metric', 'Value', 'Limit'],
      known.map(([title, value, limit, failed]) => ({ cells: [title, value, limit], failed })), [undefined, 'number nowrap', 'nowrap'])));
  }
  if (row.difference) {
    if (row.difference.picture.length) columns.append(mapOf(row.difference));
    columns.append(histogramsOf(row));
  }
  if (columns.childNodes.length) box.append(columns);
  if (row.lines && row.lines.length) {
    const lines = make('details', {}, make('summary', { class: 'soft' }, 'Message'));
    for (const line of row.lines) lines.append(make('div', { class: 'soft' }, line));
    box.append(lines);
  }
  return box;
}

// What decided against the call: the metric with its limit and value, and the bound.
function failureOf(details) {
  const lines = [];
  for (const row of details.rows) {
    const failed = (row.metrics || []).find(([, , , isFailed]) => isFailed);
    if (failed) lines.push({ cells: [row.name, failed[0], failed[1], failed[2]], failed: true });
    if (row.difference) {
      const { wrong, elements, explained } = row.difference;
      lines.push({ cells: [row.name, 'beyond rounding', commas(wrong) + ' of ' + commas(elements),
        'none' + (explained > 0 ? ' (typical element: relative error up to ' + small(explained) + ')' : '')], failed: true });
    } else if (row.beyond) {
      lines.push({ cells: [row.name, 'beyond rounding', 'some elements', 'none'], failed: true });
    }
  }
  return lines.length ? make('div', {}, make('h3', {}, 'What failed'), tableOf(['Output', 'Metric or bound', 'Value', 'Limit'], lines, ['nowrap', 'value', 'value', ''])) : '';
}

// All that is known of one call.
function callCard(row, isPanel) {
  const details = data.details[row];
  const standing = rows.standing[row];
  const link = make('a', { href: '#api=' + encodeURIComponent(nameOf(row)), title: 'Link to this call' }, nameOf(row));
  const card = make('div', { class: 'call' }, make('h3', { class: 'title' }, isPanel ? nameOf(row) : link, chip(standing)));
  const meta = [];
  const [forward, backward] = [rows.status[2 * row], rows.status[2 * row + 1]];
  meta.push('forward ' + statuses[forward] + (backward === '-' ? '' : ', backward ' + statuses[backward]));
  if (dtypeOf(row)) meta.push(dtypeOf(row) + ' ' + shapeOf(row));
  if (rows.device[row] >= 0) meta.push('device ' + rows.device[row]);
  if (tookText(row)) meta.push(tookText(row));
  card.append(make('p', { class: 'meta' }, meta.join(' \u00b7 ')));
  if (!details) {
    const note = noteOf(row) || { p: 'The device agrees with the benchmark.', r: 'A warning or error by the documented limits, no larger than rounding makes it.' }[standing];
    if (note) card.append(make('div', { class: 'why' + ('sf'.includes(standing) ? '' : ' plain') }, make('p', {}, note)));
    if (visibleOf(row) !== null) {
      card.append(make('p', { class: 'soft' }, 'An error of ' + relativeText(visibleOf(row)) + ' in one typical element of each output would have shown.'));
    }
    if ('su'.includes(standing)) {
      card.append(make('p', { class: 'soft' }, (data.journal ? 'Metrics and maps of this call are in the details file and the journal' : 'Metrics of this call are in the details file') +
        ': the report has them of the calls to look at first.'));
    }
    card.append(commandsOf(row, null));
    return card;
  }
  const why = make('div', { class: 'why' });
  details.reason.forEach((line, i) => why.append(make('p', { class: i > 0 ? 'cause' : undefined }, (i === 0 && details.output ? details.output + ': ' : '') + line)));
  card.append(why);
  const columns = make('div', { class: 'columns two' }, failureOf(details));
  if (details.inputs.length) {
    const titles = data.share ? ['Input', 'dtype', 'Shape'] : ['Input', 'dtype', 'Shape', 'Range'];
    columns.append(make('div', {}, make('h3', {}, 'Inputs'), tableOf(titles, details.inputs.map((cells) => ({ cells: cells.slice(0, titles.length) })))));
  }
  if (details.repeats) {
    columns.append(make('div', {}, make('h3', {}, 'Repeated runs'), make('p', {}, details.repeats.different + ' of ' + details.repeats.runs + ' runs with the same inputs gave other bits.')));
  }
  if (details.devices) {
    columns.append(make('div', {}, make('h3', {}, 'Devices'), tableOf(['Device', 'Bits (checksum)', ''],
      details.devices.map(([device, digest, blamed]) => ({ cells: [String(device), digest || 'gave nothing', blamed ? 'differs' : ''], failed: blamed })))));
  }
  if (columns.childNodes.length) card.append(columns);
  for (const output of details.rows) card.append(outputOf(output));
  const commands = commandsOf(row, details);
  if (commands.childNodes.length) card.append(make('div', { class: 'output' }, make('h3', {}, 'Reproduce'), commands));
  return card;
}

// The panel with one call, which #api=NAME opens as well.
const panel = document.getElementById('panel');
const shade = document.getElementById('shade');
let opener = null;
function openCall(row) {
  if (panel.hidden) opener = document.activeElement;
  panel.replaceChildren(make('button', { type: 'button', class: 'close', onclick: closePanel, 'aria-label': 'Close' }, '\u2715'), callCard(row, true));
  panel.hidden = shade.hidden = false;
  panel.scrollTop = 0;
  panel.focus();
  const hash = '#api=' + encodeURIComponent(nameOf(row));
  if (location.hash !== hash) history.replaceState(null, '', hash);
  table.choose(row);
}
function closePanel() {
  panel.hidden = shade.hidden = true;
  history.replaceState(null, '', location.pathname + location.search);
  if (opener && opener.isConnected) opener.focus();
}
shade.addEventListener('click', closePanel);
addEventListener('keydown', (event) => { if (event.key === 'Escape' && !panel.hidden) closePanel(); });
const callLink = (row) => make('button', { type: 'button', class: 'link', onclick: () => openCall(row) }, nameOf(row));

function followLink() {
  if (!location.hash.startsWith('#api=')) return;
  let name = '';
  try { name = decodeURIComponent(location.hash.slice(5)); } catch { return; }
  const row = rowOf(name);
  if (row !== undefined) { table.reveal(row); openCall(row); return; }
  panel.hidden = shade.hidden = true;
  table.search(rows.apis.includes(name) ? 'api:' + name : name);
  document.getElementById('calls').scrollIntoView();
}

// The places that texts have when they are sorted, those of equal texts alike.
function placesOf(texts) {
  const collator = new Intl.Collator('en', { numeric: true });
  const sorted = [...new Set(texts)].sort((a, b) => collator.compare(a, b));
  const places = new Map(sorted.map((text, i) => [text, i]));
  return texts.map((text) => places.get(text));
}
// Keys as small whole numbers in their order, for an array of any numbers.
function ranksOf(keys) {
  const sorted = Float64Array.from(new Set(keys)).sort();
  const ranks = new Map(Array.from(sorted, (key, i) => [key, i]));
  return Uint32Array.from(keys, (key) => ranks.get(key));
}
// Rows by a key of each, a small whole number; those of equal keys stay as they are.
function sortedBy(list, keyOf, descending) {
  const keys = new Uint32Array(list.length);
  let most = 0;
  for (let i = 0; i < list.length; ++i) {
    keys[i] = keyOf(list[i]);
    if (keys[i] > most) most = keys[i];
  }
  const starts = new Uint32Array(most + 2);
  for (const key of keys) ++starts[key + 1];
  if (descending) {
    let above = 0;
    for (let key = starts.length - 2; key >= 0; --key) { const number = starts[key + 1]; starts[key + 1] = above; above += number; }
    starts.copyWithin(0, 1);
  } else {
    for (let key = 1; key < starts.length; ++key) starts[key] += starts[key - 1];
  }
  const sorted = new Uint32Array(list.length);
  for (let i = 0; i < list.length; ++i) sorted[starts[keys[i]]++] = list[i];
  return sorted;
}

// The table of all calls. Only the rows in sight are in the document.
class Table {
  constructor() {
    // Title, class, and a function that gives the key to sort by; it is called for a sort.
    const texts = (list, of) => () => { const places = placesOf(list); return (row) => places[of(row)]; };
    const status = (side) => () => (row) => 'ewpk-'.indexOf(rows.status[2 * row + side]);
    this.columns = [
      ['#', 'number wide', () => (row) => row], ['Call', '', null], ['Verdict', '', () => (row) => order.indexOf(rows.standing[row])],
      ['Forward', 'wide', status(0)], ['Backward', 'wide', status(1)],
      ['dtype', 'wide', texts(rows.dtypes, (row) => rows.dtype[row])], ['Shape', 'wide', texts(rows.shapes, (row) => rows.shape[row])],
      ['Device', 'number wide', () => (row) => rows.device[row] + 1],
      ['Time', 'number wide', () => { const ranks = ranksOf(rows.took.map((took) => -took)); return (row) => ranks[row]; }],
      ['What', 'wide', texts(['', ...rows.notes], (row) => rows.note[row])]];
    this.sortBy = 2;
    this.descending = false;
    this.text = '';
    this.standings = new Set();
    this.dtype = '';
    this.device = '';
    this.chosen = -1;
    this.shown = [];
    this.height = 30;
  }
  build(root) {
    this.box = make('input', { type: 'search', id: 'search', placeholder: 'Search names, shapes, messages; api:Torch.add for one API', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false' });
    this.box.addEventListener('input', () => { this.text = this.box.value; this.filter(); });
    const choice = (id, label, values, set) => {
      const select = make('select', { id, 'aria-label': label }, make('option', { value: '' }, label), ...values.map((value) => make('option', { value }, value)));
      select.addEventListener('change', () => { set(select.value); this.filter(); });
      return values.length > 1 ? select : '';
    };
    this.dtypes = choice('dtype', 'All dtypes', rows.dtypes.filter((dtype) => dtype).sort(), (value) => { this.dtype = value; });
    const devices = [...new Set(rows.device)].filter((id) => id >= 0).sort((a, b) => a - b).map(String);
    this.devices = choice('device', 'All devices', devices, (value) => { this.device = value; });
    this.counter = make('span', { class: 'soft', id: 'count', 'aria-live': 'polite' });
    this.toggles = make('div', { class: 'toggles' });
    for (const letter of order) {
      if (!totals[letter]) continue;
      const button = make('button', { type: 'button', class: 'toggle', 'aria-pressed': 'false', 'data-standing': letter, onclick: () => {
        this.standings.has(letter) ? this.standings.delete(letter) : this.standings.add(letter);
        this.filter();
      } }, meanings[letter][1] + ' ' + commas(totals[letter]));
      this.toggles.append(button);
    }
    this.clear = make('button', { type: 'button', onclick: () => this.only([]) }, 'Clear');
    root.append(make('div', { class: 'filters' }, this.box, this.dtypes, this.devices, this.clear, this.counter, this.toggles));
    this.header = make('div', { class: 'header cells', role: 'row' });
    this.columns.forEach(([title, kind], i) => {
      const cell = make('div', { class: kind, role: 'columnheader', 'data-title': title }, make('button', { type: 'button', onclick: () => this.sort(i) }, title));
      this.header.append(cell);
    });
    this.body = make('div', { class: 'body', tabindex: '-1' });
    this.spacer = make('div', { class: 'spacer' });
    this.body.append(this.spacer);
    this.body.addEventListener('scroll', () => this.draw());
    root.append(make('div', { class: 'grid', role: 'table', 'aria-label': 'All calls' }, this.header, this.body));
    this.filter();
    addEventListener('resize', () => this.draw());
  }
  matches() {
    const words = this.text.toLowerCase().split(/\s+/).filter((word) => word);
    const api = words.filter((word) => word.startsWith('api:')).map((word) => word.slice(4));
    const plain = words.filter((word) => !word.startsWith('api:'));
    if (plain.length && !this.haystack) {
      this.haystack = Array.from({ length: count }, (_, i) => (nameOf(i) + ' ' + dtypeOf(i) + ' ' + shapeOf(i) + ' ' + noteOf(i)).toLowerCase());
    }
    const apis = api.length ? new Set(rows.apis.map((name, i) => api.includes(name.toLowerCase()) ? i : -1)) : null;
    const found = [];
    const takesAll = !words.length && !this.standings.size && !this.dtype && !this.device;
    for (let i = 0; i < count; ++i) {
      if (takesAll) { found.push(i); continue; }
      if (this.standings.size && !this.standings.has(rows.standing[i])) continue;
      if (this.dtype && dtypeOf(i) !== this.dtype) continue;
      if (this.device && String(rows.device[i]) !== this.device) continue;
      if (apis && !apis.has(rows.api[i])) continue;
      if (plain.length && !plain.every((word) => this.haystack[i].includes(word))) continue;
      found.push(i);
    }
    return found;
  }
  filter() {
    this.shown = this.matches();
    for (const button of this.toggles.children) button.setAttribute('aria-pressed', this.standings.has(button.dataset.standing));
    this.counter.textContent = commas(this.shown.length) + ' of ' + plural(count, 'call');
    this.arrange();
    this.body.scrollTop = 0;
    this.draw();
  }
  // By name: by index, and then by API.
  sortByName() {
    const places = placesOf(rows.apis);
    const ranks = ranksOf(indices);
    const byIndex = sortedBy(this.shown, (row) => ranks[row], this.descending);
    return sortedBy(byIndex, (row) => places[rows.api[row]], this.descending);
  }
  arrange() {
    const keys = this.columns[this.sortBy][2];
    this.shown = keys ? sortedBy(this.shown, keys(), this.descending) : this.sortByName();
    [...this.header.children].forEach((cell, i) => {
      if (i === this.sortBy) cell.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
      else cell.removeAttribute('aria-sort');
    });
  }
  sort(column) {
    this.descending = this.sortBy === column && !this.descending;
    this.sortBy = column;
    this.arrange();
    this.body.scrollTop = 0;
    this.draw();
  }
  rowElement(row) {
    const cell = (kind, ...children) => make('div', { class: kind }, ...children);
    const element = make('div', { class: 'row cells' + (row === this.chosen ? ' chosen' : ''), role: 'row', 'data-row': row, onclick: () => openCall(row) },
      cell('number wide soft', String(row)), cell('name', make('button', { type: 'button', class: 'link', title: nameOf(row) }, nameOf(row))), cell('', chip(rows.standing[row])),
      cell('wide', statusText(rows.status[2 * row])), cell('wide', statusText(rows.status[2 * row + 1])), cell('wide', dtypeOf(row)), cell('wide', shapeOf(row)),
      cell('number wide', rows.device[row] < 0 ? '' : String(rows.device[row])), cell('number wide', tookText(row)), cell('note wide', noteOf(row)));
    return element;
  }
  draw(all) {
    this.spacer.style.height = this.shown.length * this.height + 'px';
    this.body.style.height = this.shown.length * this.height < 600 ? Math.max(this.shown.length * this.height, 90) + 2 + 'px' : '';
    const first = all ? 0 : Math.max(0, Math.floor(this.body.scrollTop / this.height) - 8);
    const last = all ? Math.min(this.shown.length, 400) : Math.min(this.shown.length, Math.ceil((this.body.scrollTop + (this.body.clientHeight || 620)) / this.height) + 8);
    const elements = [this.spacer];
    for (let i = first; i < last; ++i) {
      const element = this.rowElement(this.shown[i]);
      element.style.top = i * this.height + 'px';
      elements.push(element);
    }
    if (!this.shown.length) elements.push(make('div', { class: 'nothing' }, count ? 'No call fits these filters.' : 'The run has no results yet.'));
    this.body.replaceChildren(...elements);
  }
  choose(row) {
    this.chosen = row;
    for (const element of this.body.querySelectorAll('.row')) element.classList.toggle('chosen', Number(element.dataset.row) === row);
  }
  reveal(row) {
    let at = this.shown.indexOf(row);
    if (at < 0) { this.only([]); at = this.shown.indexOf(row); }
    this.body.scrollTop = Math.max(0, (at - 5) * this.height);
    this.draw();
  }
  only(letters, text = '') {
    this.standings = new Set(letters);
    this.text = this.box.value = text;
    this.dtype = this.device = '';
    for (const select of [this.dtypes, this.devices]) if (select) select.value = '';
    this.filter();
  }
  search(text) { this.only([], text); }
}
const table = new Table();
function showCalls(letters, text) {
  table.only(letters, text);
  document.getElementById('calls').scrollIntoView();
}

function cards() {
  const root = document.getElementById('cards');
  const add = (letters, number, title, kind) => root.append(make('button', { type: 'button', class: kind + (number ? '' : ' zero'),
    title: 'Show these calls', onclick: () => showCalls([...letters]) }, make('b', {}, commas(number)), title));
  add('su', totals.s + totals.u, 'suspicious', 's');
  add('f', totals.f, 'failed to run', 'f');
  if (totals.m) add('m', totals.m, 'prove little', 'm');
  add('r', totals.r, 'explained by rounding', 'r');
  add('p', totals.p, 'pass', 'p');
  if (totals.c) add('c', totals.c, 'cannot be checked', 'c');
  if (totals.k) add('k', totals.k, 'left out by rule', 'k');
}

function commonCause(group) {
  const causes = new Map();
  for (const row of group) {
    const details = data.details[row];
    const cause = details && details.reason[1] || '';
    if (cause) causes.set(cause, (causes.get(cause) || 0) + 1);
  }
  return [...causes].sort((a, b) => b[1] - a[1]).map(([cause]) => cause)[0] || '';
}
function groupElement(group, isOpen) {
  const inside = make('div', { class: 'inside' });
  const worst = group[0];
  const box = make('div', { class: 'group' });
  const fill = () => {
    if (inside.childNodes.length) return;
    inside.append(callCard(worst));
    if (group.length > 1) {
      const others = make('div', { class: 'others' }, make('span', { class: 'soft' }, plural(group.length - 1, 'more call') + ' of ' + apiOf(worst) + ':'));
      for (const row of group.slice(1, 25)) others.append(make('button', { type: 'button', onclick: () => openCall(row) }, nameOf(row)));
      if (group.length > 25) others.append(make('button', { type: 'button', onclick: () => showCalls(['s', 'u'], 'api:' + apiOf(worst)) }, 'all in the table'));
      inside.append(others);
    }
  };
  const toggle = () => {
    fill();
    const opened = box.classList.toggle('open');
    inside.hidden = !opened;
    head.setAttribute('aria-expanded', opened);
  };
  const head = make('button', { type: 'button', class: 'head', 'aria-expanded': 'false', onclick: toggle },
    make('span', { class: 'api' }, apiOf(worst)), chip(rows.standing[worst]), make('span', { class: 'soft' }, plural(group.length, 'suspicious call')),
    make('span', { class: 'cause' }, commonCause(group) || noteOf(worst)));
  inside.hidden = true;
  box.append(head, inside);
  box.open = () => { if (!box.classList.contains('open')) toggle(); };
  if (isOpen) toggle();
  return box;
}
function suspicious() {
  const section = document.getElementById('suspicious');
  if (!data.groups.length) { section.remove(); return; }
  const root = content('suspicious');
  root.append(make('p', { class: 'soft' }, (data.judged ? 'Results that rounding does not explain, or that are not the same each time' : 'Warnings and errors by the documented limits') +
    ', by API; the one to look at first comes first.'));
  const some = 40;
  data.groups.slice(0, some).forEach((group, i) => root.append(groupElement(group, i < 2)));
  if (data.groups.length > some) {
    const more = make('button', { type: 'button', class: 'more', onclick: () => {
      more.remove();
      for (const group of data.groups.slice(some)) root.append(groupElement(group, false));
    } }, 'Show ' + plural(data.groups.length - some, 'more API'));
    root.append(more);
  }
}

// Reasons by what is alike in them: of calls that were not checked all but their names and numbers.
const withoutNumbers = (note, row) => note.split(nameOf(row)).join('').replace(/(^|[^\w.])\d+/g, '$1#');
function reasonsOf(calls, alike) {
  const reasons = new Map();
  for (const i of calls) {
    const note = noteOf(i) || 'no reason is given';
    const key = rows.standing[i] + alike(note, i);
    if (!reasons.has(key)) reasons.set(key, { note, letter: rows.standing[i], calls: [] });
    reasons.get(key).calls.push(i);
  }
  return [...reasons.values()].sort((a, b) => order.indexOf(a.letter) - order.indexOf(b.letter) || b.calls.length - a.calls.length);
}
function reasonList(reasons) {
  const list = make('ul', { class: 'reasons' });
  const add = (reason) => {
    const calls = make('div', { class: 'soft' });
    reason.calls.slice(0, 6).forEach((row, i) => calls.append(i > 0 ? ', ' : '', callLink(row)));
    if (reason.calls.length > 6) calls.append(', and ' + commas(reason.calls.length - 6) + ' more');
    list.append(make('li', {}, make('span', { class: 'count' }, commas(reason.calls.length)), chip(reason.letter), ' ', reason.note, calls));
  };
  reasons.slice(0, 30).forEach(add);
  if (reasons.length > 30) {
    const more = make('li', {}, make('button', { type: 'button', class: 'more', onclick: () => { more.remove(); reasons.slice(30, 1000).forEach(add); } },
      'Show ' + plural(reasons.length - 30, 'more reason')));
    list.append(more);
  }
  return list;
}
function reasonSection(id, letters, text, extra) {
  const reasons = reasonsOf([...letters].flatMap((letter) => rowsOf[letter]), withoutNumbers);
  if (!reasons.length) { document.getElementById(id).remove(); return; }
  content(id).append(make('p', { class: 'soft' }, text), reasonList(reasons));
  if (extra) content(id).append(extra);
}

function consistency() {
  const blames = Object.entries(data.blames);
  const differs = ({ repeats, devices }) => repeats && repeats.different || devices && devices.some(([, , blamed]) => blamed);
  const told = Object.keys(data.details).map(Number).filter((row) => differs(data.details[row]));
  const inconsistent = [...new Set([...rowsOf.u, ...told])].sort((a, b) => a - b);
  if (!blames.length && !inconsistent.length && !data.counts.varying && !data.again) { document.getElementById('consistency').remove(); return; }
  const root = content('consistency');
  if (data.again) root.append(make('p', {}, data.again + (inconsistent.length ? '' : ' All gave the same bits.')));
  if (data.counts.varying) root.append(make('p', { class: 'soft' }, plural(data.counts.varying, 'call') + ' gave other bits where the operator is declared to.'));
  if (blames.length) {
    root.append(make('h3', {}, 'Devices that differ from the others'), tableOf(['Device', 'Calls', 'The first'],
      blames.map(([device, [calls, row]]) => ({ cells: [device, commas(calls), callLink(row)], failed: false }))));
  }
  if (inconsistent.length) {
    root.append(reasonList(reasonsOf(inconsistent, (note) => note)));
  }
}

// Counts by a property of calls, as a table that can be sorted.
function summaryTable(title, texts, column, onClick) {
  const kinds = ['s', 's', 'f', 'm', 'r', 'p', 'k', 'k'];  // by place in order
  const sums = texts.map((text) => ({ key: text || 'none', calls: 0, s: 0, f: 0, m: 0, r: 0, p: 0, k: 0, took: 0 }));
  for (let i = 0; i < count; ++i) {
    const sum = sums[column[i]];
    ++sum.calls;
    ++sum[kinds[order.indexOf(rows.standing[i])]];
    sum.took += rows.took[i] / 1e5;
  }
  const lines = sums.filter((sum) => sum.calls);
  const columns = [[title, 'key'], ['Calls', 'calls'], ['Suspicious', 's'], ['Failed', 'f'], ['Little proof', 'm'], ['Rounding', 'r'], ['Pass', 'p'], ['Not checked', 'k'], ['Time', 'took'], ['', 'bar']];
  let sortBy = 's', down = true, limit = 25;
  const head = make('tr', {});
  const body = make('tbody', {});
  const more = make('button', { type: 'button', class: 'more', onclick: () => { limit = Infinity; draw(); } });
  function draw() {
    lines.sort((a, b) => {
      if (sortBy === 'key') return (down ? -1 : 1) * a.key.localeCompare(b.key, 'en', { numeric: true });
      return (down ? -1 : 1) * (a[sortBy] - b[sortBy]) || b.f - a.f || b.calls - a.calls || (a.key < b.key ? -1 : 1);
    });
    head.replaceChildren(...columns.map(([label, key]) => key === 'bar' ? make('th') : make('th', { class: key === 'key' ? undefined : 'number', 'aria-sort': sortBy === key ? (down ? 'descending' : 'ascending') : undefined },
      make('button', { type: 'button', onclick: () => { down = sortBy === key ? !down : key !== 'key'; sortBy = key; draw(); } }, label))));
    body.replaceChildren(...lines.slice(0, limit).map((line) => {
      const bar = make('div', { class: 'summary-bar' });
      for (const [kind, number] of [['s', line.s], ['f', line.f], ['m', line.m], ['p', line.r + line.p], ['k', line.k]]) {
        if (number) bar.append(make('i', { class: 'bar-' + kind, style: 'width: ' + 100 * number / line.calls + '%' }));
      }
      return make('tr', {}, make('td', {}, make('button', { type: 'button', class: 'link', onclick: () => onClick(line.key) }, line.key)),
        ...['calls', 's', 'f', 'm', 'r', 'p', 'k'].map((key) => make('td', { class: 'number' + (line[key] && key === 's' ? ' status-e' : '') }, line[key] ? commas(line[key]) : '')),
        make('td', { class: 'number nowrap' }, line.took ? duration(line.took) : ''), make('td', {}, bar));
    }));
    more.hidden = lines.length <= limit;
    more.textContent = 'Show all ' + commas(lines.length);
  }
  draw();
  return make('div', {}, make('div', { class: 'scroll' }, make('table', { class: 'summary' }, make('thead', {}, head), body)), more);
}
function summaries() {
  const root = content('summaries');
  if (!count) { document.getElementById('summaries').remove(); return; }
  root.append(summaryTable('Operator', rows.apis, rows.api, (api) => showCalls([], 'api:' + api)), make('p'), summaryTable('dtype', rows.dtypes, rows.dtype, (dtype) => {
    table.only([]);
    if (table.dtypes && dtype !== 'none') { table.dtypes.value = table.dtype = dtype; table.filter(); }
    document.getElementById('calls').scrollIntoView();
  }));
  const documented = data.counts;
  root.append(make('p', { class: 'soft' }, 'By the documented limits alone: pass ' + commas(documented.pass) + ', warning ' + commas(documented.warning) + ', error ' + commas(documented.error) +
    ', SKIP ' + commas(documented.skip) + '; passing rate ' + documented.rate + '.'));
}

function visibleFaults() {
  const byLetter = {};
  for (const letter of rows.visible) byLetter[letter] = (byLetter[letter] || 0) + 1;
  delete byLetter['.'];
  const sizes = new Map(Object.entries(byLetter).map(([letter, number]) => [letters.indexOf(letter) - 59, number]));
  if (!sizes.size) { document.getElementById('visible').remove(); return; }
  const known = [...sizes.values()].reduce((sum, number) => sum + number, 0);
  const root = content('visible');
  const found = [...sizes.keys()].sort((a, b) => a - b);
  const [from, to] = [found[0], found[found.length - 1]];
  let half = known / 2, middle = from;
  for (const exponent of found) { half -= sizes.get(exponent); if (half <= 0) { middle = exponent; break; } }
  root.append(make('p', { class: 'soft' }, 'How large a relative error in one typical element of an output must be to stand out from rounding; of each call its least sensitive output counts. ' +
    'In half of the calls ' + relativeText(middle) + ' would have shown.'));
  const width = 760, height = 130, bottom = 20, top = 8, step = Math.min(46, width / (to - from + 1));
  const most = Math.max(...sizes.values());
  const svg = shape('svg', { role: 'img', 'aria-label': 'Calls by smallest visible fault', width, height, viewBox: '0 0 ' + width + ' ' + height });
  const every = Math.ceil(52 / step);
  for (let exponent = from; exponent <= to; ++exponent) {
    const n = sizes.get(exponent) || 0;
    const h = n ? Math.max(2, n / most * (height - bottom - top)) : 0;
    const x = (exponent - from) * step;
    svg.append(shape('rect', { class: 'plain', x: x + 1, y: height - bottom - h, width: step - 2, height: h }, shape('title', {}, plural(n, 'call') + ': ' + relativeText(exponent))));
    if ((exponent - from) % every === 0) svg.append(shape('text', { x: x + step / 2, y: height - 6, 'text-anchor': 'middle' }, relativeText(exponent)));
  }
  root.append(svg);
  const weakest = [];
  for (let exponent = to; exponent >= from && weakest.length < 8; --exponent) {
    const letter = letters[exponent + 59];
    for (let row = rows.visible.indexOf(letter); row >= 0 && weakest.length < 8; row = rows.visible.indexOf(letter, row + 1)) weakest.push(row);
  }
  const list = make('p', { class: 'soft' }, 'Least sensitive: ');
  weakest.forEach((row, i) => list.append(i > 0 ? ', ' : '', callLink(row), ' ' + relativeText(visibleOf(row))));
  root.append(list);
}

// Lanes of threads: how busy each was, and the longest calls one by one.
function timeline() {
  const known = data.timeline;
  if (!known || !known.sessions.length) { document.getElementById('timeline').remove(); return; }
  const root = content('timeline');
  const canvas = make('canvas');
  const lane = 18, left = 116, top = 8, bottom = 22, gap = 26;
  const tip = document.getElementById('tip');
  let boxes = [];
  const time = (micro) => duration(micro / 1e6);
  const height = top + known.lanes.length * lane + bottom;
  function draw() {
    const width = root.clientWidth || 900;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + 'px';
    const paint = canvas.getContext('2d');
    paint.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colors = {};
    const color = (name) => colors[name] ??= style.getPropertyValue('--' + name).trim();
    const shades = Array.from({ length: 10 }, (_, level) => 'rgba(' + color('busy') + ', ' + (0.15 + 0.5 * level / 9) + ')');
    paint.font = '11px system-ui, sans-serif';
    paint.textBaseline = 'middle';
    boxes = [];
    known.lanes.forEach(([device, thread], i) => {
      paint.fillStyle = color('soft');
      paint.fillText('device ' + device + ', thread ' + thread, 0, top + i * lane + lane / 2);
    });
    const all = known.sessions.reduce((sum, [, length]) => sum + length, 0);
    const room = width - left - gap * (known.sessions.length - 1) - 4;
    let x = left, piece = 0;
    known.sessions.forEach(([begin, length, pieces], session) => {
      const scale = Math.max(2, room * length / all) / length;
      known.lanes.forEach(([, , busy], i) => {
        const y = top + i * lane;
        paint.fillStyle = color('well');
        paint.fillRect(x, y + 2, length * scale, lane - 4);
        for (let k = 0; k < pieces; ++k) {
          const level = Number(busy[piece + k]);
          if (!level) continue;
          paint.fillStyle = shades[level];
          paint.fillRect(x + length * scale * k / pieces, y + 2, length * scale / pieces + 0.4, lane - 4);
        }
      });
      for (const [of, at, begin_, took, row] of known.bars) {
        if (of !== session) continue;
        const from = x + begin_ * scale, wide = Math.max(1, took * scale), y = top + at * lane + 2;
        const standing = row < 0 ? 'p' : rows.standing[row];
        paint.fillStyle = 'su'.includes(standing) ? color('red') : standing === 'f' ? color('some') : 'rgba(' + color('busy') + ', .85)';
        paint.fillRect(from, y, wide > 3 ? wide - 0.7 : wide, lane - 4);
        boxes.push([from, y, wide, lane - 4, (row < 0 ? 'a call' : nameOf(row) + ' (' + meanings[standing][0] + ')') + '\n' + time(took) + ', from ' + time(begin_) + ' on', row]);
      }
      for (const [of, at, device, reason, gone, calls] of known.deaths) {
        if (of !== session) continue;
        const to = x + at * scale;
        for (const [row, in_, from_, blamed, again] of calls) {
          if (in_ < 0) continue;
          const from = x + from_ * scale, y = top + in_ * lane + 2;
          if (again) {
            paint.fillStyle = blamed ? color('some') : 'rgba(' + color('busy') + ', .35)';
            paint.fillRect(from, y, Math.max(1, to - from), lane - 4);
            boxes.push([from, y, Math.max(3, to - from), lane - 4, (row < 0 ? 'a call' : nameOf(row)) + '\n' + reason + '; it runs again', row]);
          }
          if (blamed) {
            paint.strokeStyle = color('text');
            paint.lineWidth = 1.6;
            paint.beginPath();
            paint.moveTo(to - 4, y + 3); paint.lineTo(to + 4, y + lane - 7);
            paint.moveTo(to + 4, y + 3); paint.lineTo(to - 4, y + lane - 7);
            paint.stroke();
          }
        }
      }
      paint.fillStyle = color('soft');
      const y = height - bottom / 2;
      if (session > 0) {
        const pause = begin / 1000 - (known.sessions[session - 1][0] / 1000 + known.sessions[session - 1][1] / 1e6);
        boxes.push([x - gap, 0, gap, height, 'continued after ' + duration(Math.max(0, pause)), -1]);
        paint.fillText('\u2026', x - gap / 2 - 4, top + lane / 2);
      }
      const ticks = Math.max(1, Math.min(8, Math.floor(length * scale / 90)));
      const rough = length / ticks, power = 10 ** Math.floor(Math.log10(rough));
      const unit = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough);
      for (let t = 0; t <= length; t += unit) {
        paint.fillStyle = color('line');
        paint.fillRect(x + t * scale, top, 1, height - bottom - top);
        paint.fillStyle = color('soft');
        paint.fillText(t === 0 ? '0' : time(t), x + t * scale + 2, y);
      }
      x += length * scale + gap;
      piece += pieces;
    });
  }
  const find = (event) => {
    const area = canvas.getBoundingClientRect();
    const px = event.clientX - area.left, py = event.clientY - area.top;
    for (let i = boxes.length - 1; i >= 0; --i) {
      const [bx, by, bw, bh] = boxes[i];
      if (px >= bx - 1 && px <= bx + bw + 1 && py >= by && py <= by + bh) return boxes[i];
    }
    return null;
  };
  canvas.addEventListener('mousemove', (event) => {
    const box = find(event);
    tip.hidden = !box;
    if (!box) return;
    tip.textContent = box[4];
    tip.style.left = Math.min(event.clientX + 12, innerWidth - 260) + 'px';
    tip.style.top = event.clientY + 14 + 'px';
  });
  canvas.addEventListener('mouseleave', () => { tip.hidden = true; });
  canvas.addEventListener('click', (event) => { const box = find(event); if (box && box[5] >= 0) { tip.hidden = true; openCall(box[5]); } });
  const busiest = known.lanes.map(([, , busy]) => [...busy].reduce((sum, digit) => sum + Number(digit), 0) / 9 / busy.length);
  const mean = busiest.reduce((sum, share) => sum + share, 0) / busiest.length;
  const length = known.sessions.reduce((sum, [, micro]) => sum + micro, 0);
  root.append(make('p', { class: 'soft' }, plural(known.lanes.length, 'thread') + ' over ' + time(length) + ', busy ' + Math.round(100 * mean) + ' % of it. The darker a lane, the busier its thread; ' +
    'the longest calls stand out, red where they are suspicious, orange where they failed. Rest the pointer on one to read its name, click it to open it.'),
    make('div', { class: 'lanes' }, canvas));
  if (known.deaths.length) {
    root.append(make('h3', {}, 'Retries, hangs and crashes'), tableOf(['At', 'Device', 'What happened', 'Calls under way'], known.deaths.slice(0, 50).map(([, at, device, reason, gone, calls]) => {
      const list = make('span');
      calls.slice(0, 8).forEach(([row, , , blamed, again], i) => list.append(i > 0 ? ', ' : '', row < 0 ? 'a call' : callLink(row), (blamed ? ' (to blame' : ' (') + (blamed ? ', ' : '') + (again ? 'runs again)' : 'given up)')));
      if (calls.length > 8) list.append(', and ' + (calls.length - 8) + ' more');
      return { cells: [time(at), String(device), reason + (gone ? '; the device is given up' : ''), list] };
    }), ['nowrap']));
    if (known.deaths.length > 50) root.append(make('p', { class: 'soft' }, 'and ' + (known.deaths.length - 50) + ' more.'));
  }
  draw();
  addEventListener('resize', draw);
  document.addEventListener('theme', draw);
}

// The reader's system decides, until the button does.
function theme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    document.documentElement.dataset.theme = chosen || (dark.matches ? 'dark' : 'light');
    document.dispatchEvent(new Event('theme'));
  };
  dark.addEventListener('change', apply);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    apply();
  });
  let before = null;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    document.dispatchEvent(new Event('theme'));
    [...document.querySelectorAll('.group')].slice(0, 20).forEach((group) => group.open());
    table.draw(true);
  });
  addEventListener('afterprint', () => {
    document.documentElement.dataset.theme = before;
    document.dispatchEvent(new Event('theme'));
    table.draw();
  });
  apply();
}

theme();
cards();
table.build(content('calls'));
suspicious();
reasonSection('unchecked', 'fck', 'A crash, a time-out or want of memory is no verdict on the API: such calls have failed to run. Others cannot be checked as they were recorded, or a rule leaves them out.');
consistency();
reasonSection('doubts', 'm', 'Results that agree where nothing else could be expected: a fault of these calls would not have shown.');
summaries();
visibleFaults();
timeline();
for (const link of document.querySelectorAll('#top a')) if (!document.querySelector(link.getAttribute('href'))) link.remove();
addEventListener('hashchange', followLink);
followLink();
document.documentElement.dataset.ready = 'yes';
