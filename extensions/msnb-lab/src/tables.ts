/** The numbers behind a view as tables. A cell that names a line of the notebook marks it. */

import { el } from './dom';
import { hub } from './hub';
import { isRecord, list, words } from './schema';

const MOST_ROWS = 300;
const LONG_CELL = 160;
const PLACE = /^cell \[\d+\] line \d+/;
const HIDDEN = new Set(['id', 'picture', 'stage']);

/** A stored notebook sorts the columns' names by the alphabet; readers want them so. */
const ORDER = (
  'layer node op stage pass law times rewrites nodes type values histogram flops bytes flops/byte median time limit ' +
  'difference verdict rms watch before after why line'
).split(' ');

function rank(name: string): number {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length - 1.5 : at;
}

export type Row = Record<string, unknown>;

export function rowsOf(x: unknown): Row[] {
  return list(x).filter(isRecord);
}

export function table(rows: Row[], hidden: Set<string> = HIDDEN, act?: (row: Row) => void): HTMLElement {
  const names = [...new Set(rows.slice(0, 50).flatMap(r => Object.keys(r)))].filter(h => !hidden.has(h));
  const heads = names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).slice(0, 20);
  const body = rows.slice(0, MOST_ROWS).map(row => {
    const line = el('tr', {}, ...heads.map(head => cellOf(row[head])));
    if (act) {
      line.addEventListener('pointerenter', () => act(row));
    }
    return line;
  });
  const more = rows.length - MOST_ROWS;
  return el(
    'div',
    { class: 'msnb-scroll' },
    el(
      'table',
      { class: 'msnb-table' },
      el('thead', {}, el('tr', {}, ...heads.map(h => el('th', { scope: 'col' }, words(h))))),
      el('tbody', {}, ...body)
    ),
    more > 0 ? el('div', {}, `… and ${more} more rows`) : null
  );
}

function cellOf(x: unknown): HTMLElement {
  const text = words(x, LONG_CELL);
  return el('td', {}, PLACE.test(text) ? placeLink(text) : text);
}

/** `cell [3] line 4` as a button that marks the line and brings it into view. */
export function placeLink(place: string): HTMLElement {
  const found = el('button', { type: 'button', class: 'msnb-place', title: 'Show this line' }, place);
  found.addEventListener('pointerenter', () => hub.marker?.markPlace(found, place, false));
  found.addEventListener('click', () => hub.marker?.markPlace(found, place, true));
  return found;
}
