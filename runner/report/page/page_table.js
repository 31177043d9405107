// Sorting, and the table of all calls.

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
      ['#', 'number wide', () => (row) => row], ['Call', 'name', null], ['Verdict', '', () => (row) => order.indexOf(rows.standing[row])],
      ['Forward', 'wide', status(0)], ['Backward', 'wide', status(1)],
      ['Largest error', 'wide', () => (row) => 4096 - Math.max(errorPlace(row, 1), errorPlace(row, 0) >= 0 ? 0 : -1)],
      ['dtype', 'wide', texts(rows.dtypes, (row) => rows.dtype[row])], ['Shape', 'wide', texts(rows.shapes, (row) => rows.shape[row])],
      ['Device', 'number wide', () => (row) => rows.device[row] + 1],
      ['Time', 'number wide', () => { const ranks = ranksOf(rows.took.map((took) => -took)); return (row) => ranks[row]; }],
      ['What', 'wide', texts(['', ...rows.notes], (row) => rows.note[row])]];
    if (rows.modules) this.columns.splice(2, 0, ['Module', 'wide', texts(rows.modules, (row) => numberIn(rows.module, row))]);
    this.sortBy = this.columns.findIndex(([title]) => title === 'Verdict');
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
    this.box = make('input', { type: 'search', id: 'search', placeholder: 'Search names, modules, lines, shapes, messages; api:Torch.add for one API', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false' });
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
    root.append(make('div', { class: 'grid', role: 'table', 'aria-label': 'All calls', style: this.widths() }, this.header, this.body));
    this.filter();
    addEventListener('resize', () => this.draw());
  }
  // Names are not cut: their columns are as wide as the longest of them, and the table can be moved sideways.
  widths() {
    const pen = make('canvas').getContext('2d');
    pen.font = '500 14px system-ui, sans-serif';
    const widthOf = (least, texts) => Math.ceil(Math.max(least, ...[...texts].sort((a, b) => b.length - a.length).slice(0, 20).map((text) => pen.measureText(text.slice(0, 200)).width + 8)));
    // Of each API the call with the longest name stands for all.
    const longest = new Map();
    for (let row = 0; row < count; ++row) {
      const key = rows.api[row] + (rows.ranks ? ':' + rows.rank[row] : '');
      if (!longest.has(key) || nameOf(row).length > longest.get(key).length) longest.set(key, nameOf(row));
    }
    const name = widthOf(170, longest.values());
    const columns = [[44], [name, 'minmax(' + name + 'px, auto)'], [104], [58], [70], [176], [70], [90, 'minmax(90px, .6fr)'], [50], [66], [150, 'minmax(150px, 2fr)']];
    if (rows.modules) columns.splice(2, 0, [widthOf(60, rows.modules)]);
    const least = columns.reduce((sum, [width]) => sum + width + 10, 10);
    return '--wide: ' + columns.map(([width, text]) => text || width + 'px').join(' ') + '; --least: ' + least + 'px';
  }
  matches() {
    const words = this.text.toLowerCase().split(/\s+/).filter((word) => word);
    const api = words.filter((word) => word.startsWith('api:')).map((word) => word.slice(4));
    const plain = words.filter((word) => !word.startsWith('api:'));
    if (plain.length && !this.haystack) {
      this.haystack = Array.from({ length: count }, (_, i) => (nameOf(i) + ' ' + moduleOf(i) + ' ' + lineOf(i) + ' ' + dtypeOf(i) + ' ' + shapeOf(i) + ' ' + noteOf(i)).toLowerCase());
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
    const cell = (kind, ...children) => make('div', { class: kind, role: 'cell' }, ...children);
    const element = make('div', { class: 'row cells' + (row === this.chosen ? ' chosen' : ''), role: 'row', 'data-row': row, onclick: () => openCall(row) },
      cell('number wide soft', String(row)), cell('name', make('button', { type: 'button', class: 'link', title: nameOf(row) }, nameOf(row))),
      rows.modules ? make('div', { class: 'wide', role: 'cell', title: lineOf(row) }, moduleOf(row)) : null, cell('', chip(rows.standing[row])),
      cell('wide', statusText(rows.status[2 * row])), cell('wide', statusText(rows.status[2 * row + 1])), cell('wide', errorText(row)), cell('wide', dtypeOf(row)), cell('wide', shapeOf(row)),
      cell('number wide', rows.device[row] < 0 ? '' : String(rows.device[row])), cell('number wide', tookText(row)),
      make('div', { class: 'note wide', role: 'cell', title: noteOf(row) }, noteOf(row)));
    return element;
  }
  draw(all) {
    this.spacer.style.height = this.shown.length * this.height + 'px';
    this.body.style.height = this.shown.length * this.height < 600 ? Math.max(this.shown.length * this.height, 90) + 2 + 'px' : '';
    const first = all ? 0 : Math.max(0, Math.floor(this.body.scrollTop / this.height) - 8);
    const last = all ? Math.min(this.shown.length, 400) : Math.min(this.shown.length, Math.ceil((this.body.scrollTop + (this.body.clientHeight || 620)) / this.height) + 8);
    // Who is on a row with the keyboard stays on it, although the row is made anew.
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest('.row') : null;
    const elements = [this.spacer];
    for (let i = first; i < last; ++i) {
      const element = this.rowElement(this.shown[i]);
      element.style.top = i * this.height + 'px';
      elements.push(element);
    }
    if (!this.shown.length) elements.push(make('div', { class: 'nothing' }, count ? 'No call fits these filters.' : 'The run has no results yet.'));
    if (all && last < this.shown.length) elements.push(make('div', { class: 'nothing' }, 'The first ' + commas(last) + ' of ' + plural(this.shown.length, 'call') + '; the CSVs have all of them.'));
    this.body.replaceChildren(...elements);
    if (focused) {
      const again = this.body.querySelector('[data-row="' + focused.dataset.row + '"] button');
      if (again) again.focus({ preventScroll: true });
      else this.body.focus({ preventScroll: true });
    }
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
