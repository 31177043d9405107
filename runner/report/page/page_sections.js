// The sections between the table and the timeline: what is suspicious, what was not checked, and the summaries.

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
const bareNameOf = (row) => nameOf(row).slice(rankOf(row).length);
const withoutNumbers = (note, row) => note.split(nameOf(row)).join('').split(bareNameOf(row)).join('').replace(/(^|[^\w.])\d+/g, '$1#');
// A reason as it is of several calls: "Distributed.all_reduce.*", or "Distributed.*" where they are of several APIs.
function commonNote({ note, calls }) {
  const name = bareNameOf(calls[0]);
  if (calls.length === 1 || !note.includes(name)) return note;
  const apis = new Set(calls.map(apiOf));
  const types = new Set(calls.map((row) => apiOf(row).split('.')[0]));
  const common = apis.size === 1 ? apiOf(calls[0]) + '.*' : types.size === 1 ? [...types][0] + '.*' : 'of these names';
  return note.split(name).join(common);
}
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
    list.append(make('li', {}, make('span', { class: 'count' }, commas(reason.calls.length)), chip(reason.letter), ' ', commonNote(reason), calls));
  };
  reasons.slice(0, 30).forEach(add);
  if (reasons.length > 30) {
    const more = make('li', {}, make('button', { type: 'button', class: 'more', onclick: () => { more.remove(); reasons.slice(30).forEach(add); } },
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

// Modules of the model in which nothing was recorded, so that nothing could be checked.
function unrecorded() {
  const modules = data.unrecorded;
  if (!modules.length) { document.getElementById('unrecorded').remove(); return; }
  const root = content('unrecorded');
  root.append(make('p', { class: 'soft' }, plural(modules.length, 'module') + ' in which no call was recorded that computes with its parameters, or none at all. What they compute was not checked: the dumper does not record it, or they compute nothing.'));
  const some = 60;
  const list = make('ul', { class: 'reasons' });
  const add = ([module, uses, hasCalls]) => list.append(make('li', {}, module, make('span', { class: 'soft' }, (uses > 1 ? ' used ' + commas(uses) + ' times' : '') +
    (hasCalls ? ' calls were recorded in it, but none that reads one of its parameters' : ''))));
  modules.slice(0, some).forEach(add);
  if (modules.length > some) {
    const more = make('li', {}, make('button', { type: 'button', class: 'more', onclick: () => { more.remove(); modules.slice(some).forEach(add); } }, 'Show ' + plural(modules.length - some, 'more module')));
    list.append(more);
  }
  root.append(list);
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
