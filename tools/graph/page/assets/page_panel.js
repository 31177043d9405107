// The panel: one node with the parameters of both sides beside each other, and lists of nodes.
const details = byId('details');
const headFields = ['type', 'dtype', 'shape'];

function button(text, title, action) {
  const element = made('button', '', text);
  element.type = 'button';
  element.title = title;
  element.addEventListener('click', action);
  return element;
}

function levelTag(level) {
  if (level === noLevel) return null;
  const { name, meaning, heat } = graph.levels[level];
  const tag = made('span', 'tag heat' + heat, name);
  tag.title = meaning;
  return tag;
}

// Seven digits of a number that has more.
const shortened = (text) => /^-?\d+\.\d{7,}(e[-+]?\d+)?$/i.test(text) ? String(Number(Number(text).toPrecision(7))) : text;

// The percentage as a bar behind its text.
function numberCell(text) {
  const short = text === undefined ? '' : shortened(shown(text));
  const cell = made('td', short.length > 14 ? 'number long' : 'number', short);
  if (text !== undefined && short !== text) cell.title = shown(text);
  const percent = text !== undefined && text.endsWith('%') ? parseFloat(text) : NaN;
  if (percent > 0) cell.style.setProperty('--share', Math.min(100, percent) + '%');
  if (percent > 0) cell.classList.add('share');
  return cell;
}

// dtype and shape, and those of the bench where they are others.
function headOf(name, sides) {
  const head = made('div', 'parameter-head');
  head.append(made('b', '', shown(name)));
  const scalar = sides.some((side) => side && side.values.has('value'));
  for (const field of scalar ? ['type', 'value'] : headFields) {
    const [target, bench] = sides.map((side) => side && side.values.get(field));
    if (field === 'type' && [target, bench].every((text) => text === undefined || /(^|\.)Tensor$/.test(text))) continue;
    const texts = [target, bench].filter((text) => text !== undefined);
    if (texts.length === 0) continue;
    const differs = target !== undefined && bench !== undefined && target !== bench;
    const part = made('span', differs ? 'differs' : field === 'value' ? '' : 'soft', differs ? shown(target) + ' \u2260 ' + shown(bench) : shown(texts[0]));
    part.title = field + (differs ? ': target \u2260 bench' : '');
    head.append(part);
  }
  const tag = sides[0] && levelTag(sides[0].level);
  if (tag) head.append(tag);
  return head;
}

function fieldsOf(sides) {
  const metrics = new Set(graph.metrics.map((metric) => metric.name));
  const fields = [];
  for (const side of sides) {
    if (side) for (const field of side.values.keys()) if (!fields.includes(field)) fields.push(field);
  }
  const scalar = fields.includes('value');
  const isNull = (field) => sides.every((side) => !side || !side.values.has(field) || side.values.get(field) === 'null');
  return fields.filter((field) => !headFields.includes(field) && !(field === 'requires_grad' && isNull(field)) && !metrics.has(field) && field !== 'data_name' && field !== 'value' &&
    !(scalar && ['Max', 'Min', 'Mean', 'Norm', 'md5'].includes(field)));
}

// Where the values of a tensor are stored; -1 says that they are not.
function storedAs(sides, present) {
  const names = present.map((side) => sides[side] && sides[side].values.get('data_name')).map((name) => name === '-1' ? undefined : name);
  const given = [...new Set(names.filter(Boolean))];
  return given.length === 0 ? null : made('p', 'soft stored', given.map(shown).join(' \u2260 '));
}

// A line for each field: target, bench, and what compares them.
function valueTable(sides, fields, present) {
  const columns = [...new Set(graph.metrics.filter((metric) => metric.column && fields.includes(metric.field) &&
    sides[0] && sides[0].values.has(metric.name)).map((metric) => metric.column))];
  const table = made('table', 'values');
  const head = made('tr');
  head.append(made('th', '', ''), ...present.map((side) => made('th', '', sideNames[side])), ...columns.map((column) => made('th', '', column)));
  const body = made('tbody');
  for (const field of fields) {
    const line = made('tr');
    const name = made('th', 'soft', field);
    name.scope = 'row';
    const texts = present.map((side) => sides[side] && sides[side].values.get(field));
    line.append(name, ...texts.map(numberCell));
    if (present.length === 2 && texts[0] !== texts[1] && texts.every((text) => text !== undefined) && columns.length === 0) line.classList.add('differs');
    for (const column of columns) {
      const metric = graph.metrics.find((one) => one.field === field && one.column === column);
      const cell = numberCell(metric && sides[0].values.get(metric.name));
      if (metric) cell.title = metric.name + (metric.meaning ? ': ' + metric.meaning : '');
      line.append(cell);
    }
    body.append(line);
  }
  const top = made('thead');
  if (present.length > 1 || columns.length > 0) top.append(head);
  table.append(top, body);
  return table;
}

function parameterCard(sides, present) {
  const card = made('div', 'parameter');
  card.append(headOf((sides[0] || sides[1]).name, sides));
  const fields = fieldsOf(sides);
  if (fields.length > 0) card.append(valueTable(sides, fields, present));
  const inColumns = (metric) => metric.column && fields.includes(metric.field);
  const scalar = sides.some((side) => side && side.values.has('value'));
  const rest = graph.metrics.filter((metric) => sides[0] && sides[0].values.has(metric.name) && !inColumns(metric) &&
    !(scalar && (metric.column || ['N/A', 'unsupported'].includes(sides[0].values.get(metric.name)))));
  if (rest.length > 0) {
    const list = made('dl', 'metrics');
    for (const metric of rest) {
      const term = made('dt', '', metric.name);
      term.title = metric.meaning;
      list.append(term, made('dd', '', shown(sides[0].values.get(metric.name))));
    }
    card.append(list);
  }
  const stored = storedAs(sides, present);
  if (stored) card.append(stored);
  return card;
}

function parameterSection(title, target, bench, present) {
  const count = Math.max(target.length, bench.length);
  if (count === 0) return null;
  const section = made('details', 'group');
  section.open = true;
  section.append(made('summary', '', title + ' (' + count + ')'));
  for (let i = 0; i < count; ++i) section.append(parameterCard([target[i], bench[i]], present));
  return section;
}

function stackList(frames) {
  const list = made('ol', 'stack');
  for (const frame of frames) {
    const [place, ...code] = frame.split('\n').map((line) => shown(line.trim().replace(/,$/, ''))).filter(Boolean);
    const item = made('li', '', place || '');
    for (const line of code) item.append(made('code', '', line));
    list.append(item);
  }
  return list;
}

function stackSection(stacks, present) {
  const given = present.filter((side) => stacks[side].length > 0);
  if (given.length === 0) return null;
  const section = made('details', 'group');
  section.open = true;
  section.append(made('summary', '', 'Stack'));
  const same = given.length === 2 && stacks[0].join('\n') === stacks[1].join('\n');
  for (const side of same ? given.slice(0, 1) : given) {
    if (given.length === 2 && !same) section.append(made('h4', '', sideNames[side]));
    section.append(stackList(stacks[side]));
  }
  return section;
}

function pairList(title, pairs) {
  if (pairs.length === 0) return null;
  const section = made('div', 'group');
  if (title) section.append(made('h4', '', title));
  const list = made('dl', 'metrics');
  for (const [name, value] of pairs) list.append(made('dt', '', shown(name)), made('dd', '', shown(value)));
  section.append(list);
  return section;
}

function nodeHead(rows) {
  const head = made('div', 'node-head');
  const present = [0, 1].filter((side) => rows[side] >= 0);
  const names = present.map((side) => nameOf(side, rows[side]));
  const same = names.length === 2 && names[0] === names[1];
  (same ? names.slice(0, 1) : names).forEach((name, i) => {
    const title = made('h3', '');
    if (!same && graph.compared) title.append(made('span', 'tag soft', sideNames[present[i]]), ' ');
    const text = made('span', '', shown(name));
    text.dir = 'ltr';
    title.append(text);
    head.append(title);
  });
  const chips = made('p', 'chips');
  if (rows[0] >= 0) {
    const node = graph.node[0][rows[0]], own = graph.sides[0];
    const tag = levelTag(own.levels[node]);
    if (tag) chips.append(tag);
    if (own.indices[node] !== null) chips.append(made('span', 'soft', 'precision index ' + own.indices[node]));
  }
  present.forEach((side) => {
    const overflow = graph.sides[side].overflows[graph.node[side][rows[side]]];
    if (overflow > 0) chips.append(made('span', 'tag overflow' + overflow, 'NaN/Inf ' + overflowNames[overflow] + (side === 1 ? ' (bench)' : '')));
  });
  if (graph.compared && present.length === 1) chips.append(made('span', 'tag unmatched', 'only in the ' + sideNames[present[0]]));
  if (navigator.clipboard) {
    const copy = button('Copy name', 'Copies the full name', () => navigator.clipboard.writeText(names[0]).then(() => { copy.textContent = 'Copied'; }, () => {}));
    chips.append(copy);
  }
  if (present.length === 2 && rows[0] !== rows[1]) {
    chips.append(made('span', 'soft', 'matched elsewhere'),
      button('Go to its partner (m)', 'The matched node stands at another place', goToPartner));
  }
  head.append(chips);
  return head;
}

// Rows of the node of either side: that of the row, and its partner wherever it is.
function pairOf(row) {
  const side = mainSide(row);
  const rows = [-1, -1];
  rows[side] = row;
  if (isMatched(side, row)) rows[1 - side] = partnerRow(side, row);
  return rows;
}

async function showNode(row) {
  const rows = pairOf(row);
  const nothing = { inputs: [], outputs: [], facts: [], suggestions: [], stack: [] };
  const sides = await Promise.all(rows.map((one, side) => one >= 0 ? detailsOf(side, one) : nothing));
  if (view.selected !== row) return;
  const present = [0, 1].filter((side) => rows[side] >= 0);
  const parts = [nodeHead(rows), ...present.map((side) => pairList(present.length === 2 && sides[side].facts.length > 0 ? sideNames[side] : '', sides[side].facts)),
    ...present.map((side) => pairList('Suggestions', sides[side].suggestions)),
    parameterSection('Inputs', sides[0].inputs, sides[1].inputs, present),
    parameterSection('Outputs', sides[0].outputs, sides[1].outputs, present),
    stackSection(sides.map((side) => side.stack), present)].filter(Boolean);
  if (parts.length === 1) parts.push(made('p', 'soft', 'Nothing was recorded of this node itself.'));
  details.replaceChildren(...parts);
  details.scrollTop = 0;
  details.dataset.node = fullName(row);
}

function showOverview() {
  const parts = [made('h3', '', 'Where to start')];
  const bad = graph.allSuspicious.length;
  if (bad > 0) {
    parts.push(made('p', '', (bad === 1 ? 'One node is' : bad + ' nodes are') + ' suspicious. The first in order of execution without a suspicious one inside:'));
    const first = graph.suspicious[0];
    parts.push(button(shown(fullName(first)), 'Shows this node', () => select(first, { focus: true })));
  } else {
    parts.push(made('p', '', graph.compared ? 'No node is suspicious.' : 'One graph; nothing was compared.'));
  }
  if (graph.unmatched.length > 0) {
    parts.push(made('p', '', (graph.unmatched.length === 1 ? 'One node has' : graph.unmatched.length + ' nodes have') + ' no partner.'),
      button('Unmatched nodes', 'Lists them', () => openTab('unmatched')));
  }
  parts.push(made('p', 'soft', 'Choose a box to see its parameters and its stack here. Press ? for the keys.'));
  details.replaceChildren(...parts);
}
