/** Node by node through a program with the values that were saved: the slider moves, the box and its line are marked. */

import { button, el } from './dom';
import { Graph } from './graph';
import { words } from './schema';
import { Slider } from './stages';
import { Row, placeLink, rowsOf } from './tables';

export class Steps {
  readonly node = el('div', { class: 'msnb-steps' });
  readonly slider: Slider;
  private rows: Row[];
  private told = el('div', { class: 'msnb-law', 'aria-live': 'polite' });

  constructor(
    data: Record<string, unknown>,
    private graph: Graph
  ) {
    this.rows = rowsOf(data.rows);
    this.slider = new Slider(this.rows.length, 'node', i => this.show(i));
    if (this.rows.some(r => r.watch)) {
      this.slider.node.append(button('▸|', 'On to the next breakpoint or NaN', () => this.run()));
    }
    this.node.append(this.slider.node, this.told);
    this.describe(0);
  }

  private run(): void {
    const next = this.rows.findIndex((r, i) => i > this.slider.position && r.watch);
    this.slider.move(next < 0 ? this.rows.length - 1 : next);
  }

  private show(position: number): string {
    const row = this.rows[position];
    if (row) {
      this.graph.choose(words(row.id), true);
    }
    return this.describe(position);
  }

  private describe(position: number): string {
    const row = this.rows[position];
    if (!row) {
      return '';
    }
    const place = words(row.line);
    const parts = [row.type, row.values, row.histogram].map(x => words(x)).filter(Boolean);
    this.told.replaceChildren(
      el('b', {}, `${words(row.node)} ${words(row.op)}`),
      el('div', {}, el('code', {}, parts.join('   '))),
      ...(row.watch ? [el('div', { class: 'msnb-warning' }, words(row.watch))] : []),
      ...(place ? [placeLink(place)] : [])
    );
    return `${words(row.op)} ${parts.join(' ')}`;
  }
}
