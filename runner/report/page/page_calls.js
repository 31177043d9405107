'use strict';
// The calls of the run, from the data that the page carries, and the elements that all sections are made of.
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
const rankOf = (row) => rows.ranks && rows.ranks[rows.rank[row]] ? rows.ranks[rows.rank[row]] + ':' : '';
const nameOf = (row) => rows.odd[row] ?? rankOf(row) + rows.apis[rows.api[row]] + '.' + indices[row];
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
// The number that three letters of a column stand for.
const numberIn = (column, row) => [0, 1, 2].reduce((number, i) => 64 * number + letters.indexOf(column[3 * row + i]), 0);
const moduleOf = (row) => rows.modules ? rows.modules[numberIn(rows.module, row)] : '';
const lineOf = (row) => rows.lines ? rows.lines[numberIn(rows.line, row)] : '';
// The largest error of a call, absolute (0) or relative (1): a place among 32 steps to a power of two; -1 where it is not known.
const errorPlace = (row, kind) => rows.errors[4 * row + 2 * kind] === '.' ? -1
  : 64 * letters.indexOf(rows.errors[4 * row + 2 * kind]) + letters.indexOf(rows.errors[4 * row + 2 * kind + 1]);
const errorNumber = (place) => place === 0 ? '0' : place === 4095 ? 'no number' : short(2 ** ((place - 1) / 32 - 80));
const errorText = (row) => [[0, 'abs'], [1, 'rel']].filter(([kind]) => errorPlace(row, kind) >= 0)
  .map(([kind, word]) => word + ' ' + errorNumber(errorPlace(row, kind))).join(', ');
// The exponent of the smallest fault that would have shown; null where it is not known.
const visibleOf = (row) => rows.visible[row] === '.' ? null : letters.indexOf(rows.visible[row]) - 59;
const duration = (seconds) => {
  const whole = Math.round(seconds);
  if (whole >= 60) return Math.floor(whole / 60) + ' min ' + whole % 60 + ' s';
  if (seconds >= 1) return Number(seconds.toPrecision(3)) + ' s';
  if (seconds >= 0.001) return Number((seconds * 1e3).toPrecision(3)) + ' ms';
  return Math.round(seconds * 1e6) + ' \u00b5s';
};
const tookText = (row) => rows.took[row] ? duration(rows.took[row] / 1e5) : '';
const relativeText = (exponent) => {
  const value = 2 ** exponent;
  return value >= 0.001 ? Number((value * 100).toPrecision(2)) + ' %' : value.toExponential(0);
};

// Two digits.
const short = (value) => value >= 1e4 || value < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
const small = (value) => value < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
