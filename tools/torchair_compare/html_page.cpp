#include "tools/torchair_compare/html_page.h"

namespace msrun::torchair {

const std::string_view html_style = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1b1f24; --soft: #5b6470; --line: #dde1e6; --hover: #eef2f7; --link: #0b62c4;
  --red: #c62828; --yellow: #a87400; --green: #2e7d32; --red-back: #fdecea; --yellow-back: #fdf5df; --green-back: #e9f5ea; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171b; --card: #1d2126; --text: #e6e9ed; --soft: #9aa4b0; --line: #343a42; --hover: #272d34; --link: #7ab5ff;
  --red: #ff7b72; --yellow: #e3b341; --green: #6cc070; --red-back: #3a1f1f; --yellow-back: #37301a; --green-back: #1c3220; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
main { max-width: 1900px; margin: 0 auto; padding: 20px; }
h1 { font-size: 20px; margin: 0 0 4px; }
h2 { font-size: 15px; margin: 0 0 8px; }
.soft { color: var(--soft); }
.path { overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 14px 0; }
.facts { display: flex; flex-wrap: wrap; gap: 10px; margin: 14px 0; padding: 0; list-style: none; }
.facts li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 14px; min-width: 110px; }
.facts b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
.filters { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin-bottom: 10px; }
.filters input[type=search], .filters select, button.more { font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--line); border-radius: 6px; padding: 5px 9px; }
.filters input[type=search] { width: 320px; max-width: 100%; }
.scroll { overflow: auto; max-height: 75vh; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; }
thead th { position: sticky; top: 0; background: var(--card); border-bottom: 1px solid var(--line); padding: 0; text-align: left; z-index: 1; }
thead button { all: unset; box-sizing: border-box; cursor: pointer; display: block; width: 100%; padding: 7px 9px; font-weight: 600; white-space: nowrap; }
thead button:focus-visible, tr.row:focus-visible { outline: 2px solid var(--link); outline-offset: -2px; }
th[aria-sort=ascending] button::after { content: " \2191"; }
th[aria-sort=descending] button::after { content: " \2193"; }
td { padding: 5px 9px; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
thead th.number button { text-align: right; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.name { max-width: min(340px, 42vw); overflow: hidden; text-overflow: ellipsis; }
th.fixed, td.fixed { position: sticky; left: 0; background: var(--card); border-right: 1px solid var(--line); }
thead th.fixed { z-index: 2; }
td.none { color: var(--soft); padding: 16px; text-align: center; }
td.message { max-width: 360px; overflow: hidden; text-overflow: ellipsis; }
tr.row { cursor: pointer; }
tr.row:hover, tr.row:hover td.fixed { background: var(--hover); }
tr.details td { white-space: normal; background: var(--hover); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 14px; margin: 4px 0;
  position: sticky; left: 9px; max-width: calc(min(100vw, 1900px) - 120px); }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.mark { display: inline-block; border-radius: 4px; padding: 0 7px; font-weight: 600; font-size: 12px; }
.mark.red { color: var(--red); background: var(--red-back); }
.mark.yellow { color: var(--yellow); background: var(--yellow-back); }
.mark.green { color: var(--green); background: var(--green-back); }
button.more { margin-top: 10px; cursor: pointer; }
.chart { overflow-x: auto; }
svg { width: 100%; min-width: 640px; max-width: 1500px; height: auto; display: block; margin: 0 auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); }
svg .limit { stroke: var(--red); stroke-dasharray: 5 4; }
svg .limit-text { fill: var(--red); }
svg .outputs { fill: none; stroke: var(--soft); stroke-opacity: .45; }
svg .token { stroke: var(--soft); stroke-dasharray: 2 3; }
svg circle { cursor: pointer; stroke: var(--card); stroke-width: .6; }
svg.dense circle { stroke: none; }
svg circle.red { fill: var(--red); } svg circle.yellow { fill: var(--yellow); } svg circle.green { fill: var(--green); }
@media (max-width: 700px) {
  main { padding: 10px; }
  section { padding: 10px; }
  .facts { gap: 6px; }
  .facts li { padding: 4px 9px; min-width: 0; font-size: 12px; }
  .facts b { font-size: 16px; }
  dl { grid-template-columns: minmax(0, 1fr); max-width: calc(100vw - 90px); } dd { margin-bottom: 6px; } }
)css";

const std::string_view html_script = R"js(
'use strict';
const report = JSON.parse(document.getElementById('report').textContent);
const at = Object.fromEntries(report.titles.map((title, i) => [title, i]));
const shown = [
  ['', 'Mark'], ['#', 'Order'], ['API Name', 'API Name'], ['Tensor', 'Tensor'], ['Token', 'token_id'],
  ['Cosine', 'cosine_similarity'], ['Message', 'Err_message'], ['MaxRelativeErr', 'MaxRelativeErr'], ['MaxAbsErr', 'MaxAbsErr'],
  ['Err < 0.001', 'One Thousandth Err Ratio'], ['EucDist', 'EucDist'], ['Max diff', 'Max diff'],
  ['Min diff', 'Min diff'], ['Mean diff', 'Mean diff'], ['Dtype', 'my_dtype'], ['Golden dtype', 'golden_dtype'],
  ['Shape', 'my_shape']];
// A column that stays in sight when the table is moved sideways.
const fixed = 'API Name';
const texts = new Set(['Mark', 'API Name', 'Tensor', 'my_dtype', 'golden_dtype', 'my_shape', 'Err_message']);
const step = 200;
const state = { sort: 'Badness', down: true, text: '', marks: new Set(['red', 'yellow', 'green']), token: '', limit: step };
const rows = report.rows.map((cells) => ({ cells, find: cells.join('\n').toLowerCase() }));
const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const value = (row, title) => row.cells[at[title]];
const number = (text) => {
  if (text === 'inf') return Infinity;
  if (text === '-inf') return -Infinity;
  const parsed = parseFloat(text);
  return Number.isNaN(parsed) ? null : parsed;
};
const collator = new Intl.Collator(undefined, { numeric: true });
const severity = { red: 0, yellow: 1, green: 2 };
function compare(a, b) {
  const sign = state.down ? -1 : 1;
  const x = value(a, state.sort), y = value(b, state.sort);
  if (state.sort === 'Mark') return sign * (severity[x] - severity[y]);
  if (texts.has(state.sort)) return sign * collator.compare(x, y);
  const m = number(x), n = number(y);
  if (m === null || n === null) return (m === null) - (n === null);  // without a number: last in either direction
  return m === n ? 0 : sign * (m < n ? -1 : 1);
}
// "=Add" is the operator of exactly that name; other words may stand anywhere.
function selected() {
  const name = state.text.startsWith('=') ? state.text.slice(1).trim() : null;
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (row) => name === null ? words.every((word) => row.find.includes(word)) : value(row, 'API Name') === name;
  return rows.filter((row) => state.marks.has(value(row, 'Mark')) && (!state.token || value(row, 'token_id') === state.token) &&
    fits(row));
}
const short = (text) => {
  const parsed = number(text);
  if (parsed === null || !Number.isFinite(parsed) || text.length < 12) return text;
  return String(Number(parsed.toPrecision(6))) + (text.endsWith('%') ? '%' : '');
};
function details(row) {
  const line = element('tr', 'details');
  const cell = element('td');
  cell.colSpan = shown.length;
  const list = element('dl');
  report.titles.forEach((title, i) => {
    if (['Mark', 'Badness', 'Tensor', 'Order'].includes(title) || row.cells[i] === '') return;
    list.append(element('dt', '', title), element('dd', '', row.cells[i]));
  });
  cell.append(list);
  line.append(cell);
  return line;
}
function line(row) {
  const made = element('tr', 'row');
  made.tabIndex = 0;
  made.setAttribute('aria-expanded', 'false');
  for (const [, title] of shown) {
    if (title === 'Mark') {
      const cell = element('td');
      cell.append(element('span', 'mark ' + value(row, 'Mark'), value(row, 'Result')));
      made.append(cell);
    } else if (texts.has(title)) {
      const cell = element('td', title === 'Err_message' ? 'message' : title === fixed ? 'name fixed' : 'name', value(row, title));
      cell.title = value(row, title);
      made.append(cell);
    } else {
      const cell = element('td', 'number', title === 'cosine_similarity' ? value(row, title) : short(value(row, title)));
      cell.title = value(row, title);
      made.append(cell);
    }
  }
  const toggle = () => {
    const open = made.nextSibling && made.nextSibling.className === 'details';
    if (open) made.nextSibling.remove(); else made.after(details(row));
    made.setAttribute('aria-expanded', String(!open));
  };
  made.addEventListener('click', toggle);
  made.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    toggle();
  });
  return made;
}
const body = document.querySelector('#rows tbody');
const more = document.getElementById('more');
function render() {
  const found = selected().sort((a, b) => compare(a, b) || number(value(a, 'Order')) - number(value(b, 'Order')));
  body.replaceChildren(...found.slice(0, state.limit).map(line));
  if (found.length === 0) {
    const cell = element('td', 'none', rows.length === 0 ? 'No tensor was compared.' : 'No tensor fits these filters.');
    cell.colSpan = shown.length;
    const empty = element('tr');
    empty.append(cell);
    body.append(empty);
  }
  document.getElementById('count').textContent =
    found.length + ' of ' + rows.length + ' tensors' + (found.length > state.limit ? ', ' + state.limit + ' shown' : '');
  more.hidden = found.length <= state.limit;
  document.querySelectorAll('#rows th').forEach((head) => {
    if (head.dataset.title === state.sort) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
}
const changed = () => { state.limit = step; render(); };
const head = document.querySelector('#rows thead tr');
for (const [label, title] of shown) {
  const cell = element('th');
  cell.scope = 'col';
  cell.dataset.title = title;
  cell.className = title === fixed ? 'fixed' : texts.has(title) ? '' : 'number';
  const button = element('button', '', label || 'Result');
  button.type = 'button';
  button.addEventListener('click', () => {
    state.down = state.sort === title ? !state.down : !texts.has(title) && title !== 'Order' && title !== 'cosine_similarity';
    state.sort = title;
    changed();
  });
  cell.append(button);
  head.append(cell);
}
const search = document.getElementById('search');
search.addEventListener('input', () => { state.text = search.value; changed(); });
document.querySelectorAll('.filters input[type=checkbox]').forEach((box) => box.addEventListener('change', () => {
  if (box.checked) state.marks.add(box.value); else state.marks.delete(box.value);
  changed();
}));
const token = document.getElementById('token');
[...new Set(rows.map((row) => value(row, 'token_id')))].sort((a, b) => a - b).forEach((id) => {
  const option = element('option', '', 'token ' + id);
  option.value = id;
  token.append(option);
});
token.addEventListener('change', () => { state.token = token.value; changed(); });
document.getElementById('worst').addEventListener('click', () => { state.sort = 'Badness'; state.down = true; changed(); });
more.addEventListener('click', () => { state.limit += step; render(); });
// No other filter may hide the operator that was asked for.
document.querySelectorAll('svg circle').forEach((point) => point.addEventListener('click', () => {
  document.querySelectorAll('.filters input[type=checkbox]').forEach((box) => { box.checked = true; state.marks.add(box.value); });
  token.value = state.token = '';
  search.value = state.text = '=' + point.dataset.name;
  changed();
  document.getElementById('rows').scrollIntoView({ behavior: 'smooth' });
}));
render();
document.documentElement.dataset.ready = String(body.querySelectorAll('tr.row').length);
)js";

}  // namespace msrun::torchair
