#include "tools/html/assets.h"

namespace msrun::html {

const std::string_view style = R"css(
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
.path, p { overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 14px 0; }
.facts { display: flex; flex-wrap: wrap; gap: 10px; margin: 14px 0; padding: 0; list-style: none; }
.facts li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 14px; min-width: 110px; }
.facts b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
.filters { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin-bottom: 10px; }
.filters input[type=search], .filters select, .filters button, button.more { font: inherit; color: inherit; background: var(--page);
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
.filters button, button.more { cursor: pointer; }
button.more { margin-top: 10px; }
.chart { overflow-x: auto; }
svg { width: 100%; min-width: 640px; max-width: 1500px; height: auto; display: block; margin: 0 auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); }
svg .limit { stroke: var(--red); stroke-dasharray: 5 4; }
svg .limit-text { fill: var(--red); }
svg polyline { fill: none; stroke: var(--soft); stroke-opacity: .45; }
svg .section { stroke: var(--soft); stroke-dasharray: 2 3; }
svg circle { cursor: pointer; stroke: var(--card); stroke-width: .6; }
svg.dense circle { stroke: none; }
svg circle.red { fill: var(--red); } svg circle.yellow { fill: var(--yellow); } svg circle.green { fill: var(--green); }
@media print {
  .scroll { max-height: none; overflow: visible; border: 0; }
  .filters, button.more { display: none; }
  thead th, th.fixed, td.fixed { position: static; }
}
@media (max-width: 700px) {
  main { padding: 10px; }
  section { padding: 10px; }
  .facts { gap: 6px; }
  .facts li { padding: 4px 9px; min-width: 0; font-size: 12px; }
  .facts b { font-size: 16px; }
  dl { grid-template-columns: minmax(0, 1fr); max-width: calc(100vw - 90px); } dd { margin-bottom: 6px; } }
)css";

const std::string_view table_script = R"js(
'use strict';
const step = 200;
const collator = new Intl.Collator(undefined, { numeric: true });
const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const number = (text) => {
  if (text === 'inf') return Infinity;
  if (text === '-inf') return -Infinity;
  const parsed = parseFloat(text);
  return Number.isNaN(parsed) ? null : parsed;
};
const short = (text) => {
  const parsed = number(text);
  if (parsed === null || !Number.isFinite(parsed) || text.length < 12) return text;
  return String(Number(parsed.toPrecision(6))) + (text.endsWith('%') ? '%' : '');
};
const isText = (kind) => kind === 'text' || kind === 'long_text';
// A table of the page: the cells of its rows, how they are shown, and what the reader has chosen of them.
function tableOf(root) {
  const { view, titles, rows: data } = JSON.parse(root.querySelector('script').textContent);
  const id = root.dataset.id;
  const at = Object.fromEntries(titles.map((title, i) => [title, i]));
  const kinds = Object.fromEntries(view.columns.map((column) => [column.title, column.kind]));
  // A first order by cells that are not shown is shown as one by colours: within these it is the same.
  const first = kinds[view.sort] === undefined && kinds[view.mark] ? { sort: view.mark, down: false } : { sort: view.sort, down: true };
  return {
    root, id, view, titles, kinds, first,
    part: (name) => document.getElementById(id + '-' + name),
    value: (row, title) => row.cells[at[title]],
    severity: Object.fromEntries(view.colors.map((color, i) => [color, i])),
    rows: data.map((cells) => ({ cells, find: cells.join('\n').toLowerCase() })),
    state: { ...first, text: '', colors: new Set(view.colors), choice: '', limit: step },
  };
}
function compareRows({ view, kinds, severity, state, value }, a, b) {
  const sign = state.down ? -1 : 1;
  const x = value(a, state.sort), y = value(b, state.sort);
  if (kinds[state.sort] === 'mark') return sign * (severity[x] - severity[y]) || number(value(b, view.sort)) - number(value(a, view.sort));
  if (isText(kinds[state.sort])) return sign * collator.compare(x, y);
  const m = number(x), n = number(y);
  if (m === null || n === null) return (m === null) - (n === null);  // without a number: last in either direction
  return m === n ? 0 : sign * (m < n ? -1 : 1);
}
// "=Add" asks for the rows of exactly that name; other words may be anywhere in a row.
function selectedRows({ view, rows, state, value }) {
  const name = state.text.startsWith('=') ? state.text.slice(1).trim() : null;
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (row) => name === null ? words.every((word) => row.find.includes(word)) : value(row, view.name) === name;
  return rows.filter((row) => (!view.mark || state.colors.has(value(row, view.mark))) &&
    (!state.choice || value(row, view.choice) === state.choice) && fits(row));
}
function detailsOf({ view, titles }, row) {
  const line = element('tr', 'details');
  const cell = element('td');
  cell.colSpan = view.columns.length;
  const list = element('dl');
  titles.forEach((title, i) => {
    if (view.hidden.includes(title) || row.cells[i] === '') return;
    list.append(element('dt', '', title), element('dd', '', row.cells[i]));
  });
  cell.append(list);
  line.append(cell);
  return line;
}
function cellOf({ view, value }, row, column) {
  const text = value(row, column.title);
  if (column.kind === 'mark') {
    const cell = element('td');
    cell.append(element('span', 'mark ' + text, value(row, view.mark_text)));
    return cell;
  }
  const kind = column.kind === 'long_text' ? 'message' : column.kind === 'text' ? 'name' : 'number';
  const cell = element('td', kind + (column.fixed ? ' fixed' : ''), column.kind === 'number' ? short(text) : text);
  cell.title = text;
  return cell;
}
function lineOf(table, row) {
  const made = element('tr', 'row');
  made.tabIndex = 0;
  made.setAttribute('aria-expanded', 'false');
  made.append(...table.view.columns.map((column) => cellOf(table, row, column)));
  const toggle = () => {
    const open = made.nextSibling && made.nextSibling.className === 'details';
    if (open) made.nextSibling.remove(); else made.after(detailsOf(table, row));
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
function nothingIn({ view, rows }) {
  const cell = element('td', 'none', rows.length === 0 ? view.nothing : 'No ' + view.noun + ' fits these filters.');
  cell.colSpan = view.columns.length;
  const line = element('tr');
  line.append(cell);
  return line;
}
function render(table) {
  const { root, view, rows, state, value } = table;
  const body = root.querySelector('tbody');
  const found = selectedRows(table).sort((a, b) => compareRows(table, a, b) || number(value(a, view.order)) - number(value(b, view.order)));
  body.replaceChildren(...found.slice(0, state.limit).map((row) => lineOf(table, row)));
  if (found.length === 0) body.append(nothingIn(table));
  table.part('count').textContent = found.length + ' of ' + rows.length + ' ' + view.noun + 's' +
    (found.length > state.limit ? ', ' + state.limit + ' shown' : '');
  root.querySelector('button.more').hidden = found.length <= state.limit;
  root.querySelectorAll('th').forEach((head) => {
    if (head.dataset.title === state.sort) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
}
function renderFromTop(table) {
  table.state.limit = step;
  render(table);
}
function headOf(table, column) {
  const { state } = table;
  const cell = element('th');
  cell.scope = 'col';
  cell.dataset.title = column.title;
  cell.className = column.fixed ? 'fixed' : isText(column.kind) || column.kind === 'mark' ? '' : 'number';
  const button = element('button', '', column.label);
  button.type = 'button';
  button.addEventListener('click', () => {
    state.down = state.sort === column.title ? !state.down : column.kind === 'number';
    state.sort = column.title;
    renderFromTop(table);
  });
  cell.append(button);
  return cell;
}
// The boxes of the colours of a table.
const boxesOf = ({ root }) => root.querySelectorAll('.filters input[type=checkbox]');
function heedFilters(table) {
  const { root, state, first } = table;
  const search = table.part('search');
  search.addEventListener('input', () => { state.text = search.value; renderFromTop(table); });
  boxesOf(table).forEach((box) => box.addEventListener('change', () => {
    if (box.checked) state.colors.add(box.value); else state.colors.delete(box.value);
    renderFromTop(table);
  }));
  root.querySelector('.first-order').addEventListener('click', () => { Object.assign(state, first); renderFromTop(table); });
  root.querySelector('button.more').addEventListener('click', () => { state.limit += step; render(table); });
}
function fillChoice(table) {
  const { view, rows, state, value } = table;
  const choice = table.part('choice');
  if (!choice) return;
  [...new Set(rows.map((row) => value(row, view.choice)))].sort(collator.compare).forEach((text) => {
    const option = element('option', '', view.choice_noun + ' ' + text);
    option.value = text;
    choice.append(option);
  });
  choice.addEventListener('change', () => { state.choice = choice.value; renderFromTop(table); });
}
// No other filter may hide the rows that a point of a chart asks for.
function showPoint(table, point) {
  const { root, state } = table;
  boxesOf(table).forEach((box) => { box.checked = true; state.colors.add(box.value); });
  const choice = table.part('choice');
  if (choice) choice.value = state.choice = '';
  table.part('search').value = state.text = '=' + point.dataset.name;
  renderFromTop(table);
  root.querySelector('table').scrollIntoView({ behavior: 'smooth' });
}
function fillTable(root) {
  const table = tableOf(root);
  root.querySelector('thead tr').append(...table.view.columns.map((column) => headOf(table, column)));
  heedFilters(table);
  fillChoice(table);
  document.querySelectorAll('svg[data-table="' + table.id + '"] circle').forEach((point) =>
    point.addEventListener('click', () => showPoint(table, point)));
  render(table);
}
document.querySelectorAll('.sortable').forEach(fillTable);
document.documentElement.dataset.ready = String(document.querySelectorAll('tr.row').length);
)js";

// The rules for dark systems are made those of all screens, or of none; paper stays light.
const std::string_view theme_script = R"js(
{
  const dark = '(prefers-color-scheme: dark)';
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule.media && rule.media.mediaText === dark);
  const store = (value) => { try { return value === undefined ? localStorage.getItem('msrun-theme') : localStorage.setItem('msrun-theme', value); } catch { return null; } };
  const use = (theme) => {
    for (const rule of rules) rule.media.mediaText = theme === 'dark' ? 'screen' : theme === 'light' ? 'not all' : dark;
    document.documentElement.style.colorScheme = theme || '';
    document.documentElement.dataset.theme = theme || '';
    document.dispatchEvent(new Event('themechange'));
  };
  let theme = store();
  if (theme !== 'dark' && theme !== 'light') theme = null;
  if (theme) use(theme);
  for (const button of document.querySelectorAll('button.theme')) button.addEventListener('click', () => {
    theme = (theme ? theme === 'dark' : matchMedia(dark).matches) ? 'light' : 'dark';
    store(theme);
    use(theme);
  });
}
)js";

}  // namespace msrun::html
