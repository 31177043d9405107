// The card of a call with all that is known of it, and the panel that shows one.

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
  const known = data.commands;
  // The page of one of several ranks names calls without it; what is run has to be told.
  const full = quoted(known.rank + nameOf(row));
  if (known.run) list.append(command('Check it again', known.run + ' --only ' + full));
  if (known.is_dump) {
    const backward = details && details.output.startsWith('backward') ? ' --propagation backward' : '';
    list.append(command('As a script', known.program + ' op_generate --api ' + full + backward + known.script_options + ' -i ' + known.recording + ' -o scripts'));
  }
  if (data.journal && 'su'.includes(rows.standing[row])) {
    list.append(command('Smallest case', known.program + ' shrink --api ' + full + ' -i ' + known.journal + ' -o small'));
  }
  if (list.children.length > 0) list.append(make('p', { class: 'legend' }, 'To be run in the folder of this report.'));
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
    const lines = make('details', { open: !row.beyond && row.lines.length < 3 }, make('summary', { class: 'soft' }, 'Message'));
    for (const line of row.lines) lines.append(make('div', { class: 'soft' }, line));
    box.append(lines);
  }
  return box;
}

// What decided against the call: the metric with its limit and value, and the bound.
function failureOf(details, standing) {
  const lines = [];
  for (const row of details.rows) {
    const failed = (row.metrics || []).find(([, , , isFailed]) => isFailed);
    if (failed) lines.push({ cells: [row.name, failed[0], failed[1], failed[2]], failed: true });
    if (row.difference) {
      const { wrong, elements, explained } = row.difference;
      lines.push({ cells: [row.name, 'beyond rounding', commas(wrong) + ' of ' + commas(elements),
        'none' + (explained > 0 ? ' (typical element: relative error up to ' + small(explained) + ')' : '')], failed: true });
    } else if (row.beyond) {
      lines.push(row.finding ? { cells: [row.name, 'not what the call gives', row.finding, ''], failed: true }
        : { cells: [row.name, 'beyond rounding', 'some elements', 'none'], failed: true });
    }
  }
  const title = 'su'.includes(standing) ? 'What failed' : 'Beyond the documented limits, and explained by rounding';
  return lines.length ? make('div', {}, make('h3', {}, title), tableOf(['Output', 'Metric or bound', 'Value', 'Limit'], lines, ['nowrap', 'value', 'value', ''])) : '';
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
  if (moduleOf(row) || lineOf(row)) {
    card.append(make('p', { class: 'meta place' }, [moduleOf(row) && 'in ' + moduleOf(row), lineOf(row)].filter((text) => text).join(' \u00b7 ')));
  }
  if (!details) {
    const note = noteOf(row) || { p: 'The device agrees with the benchmark.', r: 'A warning or error by the documented limits, no larger than rounding makes it.' }[standing];
    if (note) card.append(make('div', { class: 'why' + ('sf'.includes(standing) ? '' : ' plain') }, make('p', {}, note)));
    if (errorText(row)) card.append(make('p', { class: 'soft' }, 'Largest error of an output or gradient: ' + errorText(row) + '. The details file has all metrics.'));
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
  const why = make('div', { class: 'why' + ('suf'.includes(standing) ? '' : ' plain') });
  const reasons = details.reason.filter((line) => line);
  (reasons.length ? reasons : ['The device agrees with the benchmark.']).forEach((line, i) => why.append(make('p', { class: i > 0 ? 'cause' : undefined }, (i === 0 && details.output ? details.output + ': ' : '') + line)));
  card.append(why);
  const columns = make('div', { class: 'columns two' }, failureOf(details, standing));
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
  if (visibleOf(row) !== null) {
    card.append(make('p', { class: 'soft' }, 'An error of ' + relativeText(visibleOf(row)) + ' in one typical element of each output would have shown.'));
  }
  const commands = commandsOf(row, details);
  if (commands.childNodes.length) card.append(make('div', { class: 'output' }, make('h3', {}, 'Reproduce'), commands));
  return card;
}

// The panel with one call, which #api=NAME opens as well.
const panel = document.getElementById('panel');
const shade = document.getElementById('shade');
let opener = null;
// The page behind the panel is out of reach while that is open.
function setBackground(inert) {
  for (const element of document.querySelectorAll('header, main')) element.inert = inert;
}
function openCall(row) {
  if (panel.hidden) opener = document.activeElement;
  panel.replaceChildren(make('button', { type: 'button', class: 'close', onclick: closePanel, 'aria-label': 'Close' }, '\u2715'), callCard(row, true));
  panel.hidden = shade.hidden = false;
  setBackground(true);
  panel.scrollTop = 0;
  panel.focus();
  const hash = '#api=' + encodeURIComponent(nameOf(row));
  if (location.hash !== hash) history.replaceState(null, '', hash);
  table.choose(row);
}
function closePanel() {
  panel.hidden = shade.hidden = true;
  setBackground(false);
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
