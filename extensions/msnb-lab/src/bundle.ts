/** One output: the bundle of a view as elements. What a view has beyond a picture (stages, values, tables) follows it. */

import { details, el, figuresIn, image, keepKeys } from './dom';
import { Graph } from './graph';
import { Shown, hub } from './hub';
import { memoryChart } from './memory';
import { Box, Bundle, Loc, readBundle, words } from './schema';
import { Stages } from './stages';
import { Steps } from './steps';
import { rowsOf, table } from './tables';

const LONG_TEXT = 200_000;
const CALLED: Record<string, string> = { rows: 'node by node' };

/** The other representations of the same output: the stored page, an SVG to show as an image, the text. */
export interface Others {
  html: string;
  svg: string;
  text: string;
}

export class BundleView implements Shown {
  readonly node = el('div', { class: 'msnb-view', role: 'region' });
  readonly bundle: Bundle;
  private stages: Stages | null = null;
  private own: Graph[] = [];

  constructor(json: unknown, others: Others) {
    this.bundle = readBundle(json);
    const { kind, picture, calls, data, overlays } = this.bundle;
    this.node.setAttribute('aria-label', `msnb ${kind}: ${picture.title}`);
    keepKeys(this.node);
    this.node.addEventListener('pointerdown', () => hub.select(this));
    this.node.addEventListener('focusin', () => hub.select(this));
    const listener = {
      hovered: (graph: Graph, box: Box | null) => hub.marker?.mark(this.node, box ?? graph.chosenBox, false),
      chosen: (graph: Graph, box: Box | null) => {
        this.own.concat(this.stages?.graphs ?? []).forEach(g => g !== graph && g.chosen !== null && quiet(g));
        hub.marker?.mark(this.node, box, box?.kind !== 'group');
      }
    };
    if (kind === 'passes') {
      this.stages = new Stages(data, listener);
      this.node.append(this.stages.node);
    } else if (picture.boxes.length || picture.columns.length) {
      const first = kind === 'graph' ? null : overlays[0]?.name ?? null; // what the view is about
      this.own = [picture, ...calls].map((p, i) => new Graph(p, i ? [] : overlays, listener, p.title, i ? null : first));
      this.node.append(...this.own.map(g => g.node));
    } else {
      const chart = memoryChart(this.bundle, this.node);
      this.node.append(...(chart ? [chart] : stored(this.bundle, others)));
    }
    if (kind === 'plan' && this.own.length) {
      this.node.append(...stored(this.bundle, others).slice(1)); // the first is the program, drawn above
    }
    if (kind === 'profile' && this.own.length && others.svg) {
      this.node.append(details('per op', image(others.svg, `cost of ${picture.title}`)));
    }
    if (kind === 'step' && this.own.length) {
      this.node.prepend(new Steps(data, this.own[0]).node);
    }
    this.node.prepend(...this.bundle.notes.map(n => el('div', { class: 'msnb-note' }, n)));
    this.below(others);
  }

  get graphs(): Graph[] {
    return this.stages ? this.stages.graphs : this.own;
  }

  get moves(): Stages | null {
    return this.stages;
  }

  private below(others: Others): void {
    const { data, truncated } = this.bundle;
    if (truncated) {
      const told = 'Some deeper groups are left out of the notebook; .save("name.ir") keeps all of the program.';
      this.node.append(el('div', { class: 'msnb-note' }, told));
    }
    if (typeof data.summary === 'string') {
      this.node.append(el('div', { class: 'msnb-note' }, words(data.summary, 600)));
    }
    for (const [name, value] of Object.entries(data)) {
      const rows = rowsOf(value);
      if (rows.length && rows.length === (value as unknown[]).length) {
        const act = (id: unknown) => typeof id === 'string' && this.own[0]?.mark([id]);
        this.node.append(details(CALLED[name] ?? words(name), table(rows, undefined, row => act(row.id))));
      }
    }
    if (others.text) {
      this.node.append(details('text', el('pre', { class: 'msnb-text' }, others.text.slice(0, LONG_TEXT))));
    }
  }

  /** Mark the boxes of a line; returns how many there are. */
  markLine(file: string, line: number): number {
    let count = 0;
    for (const graph of this.graphs) {
      const ids = [...graph.found()].filter(b => isAt(b.loc, file, line)).map(b => b.id);
      graph.mark(ids);
      count += ids.length;
    }
    return count;
  }
}

/** What the notebook keeps of a view that is not drawn here: all figures of the page, or the one SVG. */
function stored({ kind, picture }: Bundle, others: Others): HTMLElement[] {
  const alt = `${kind} of ${picture.title}`;
  const figures = figuresIn(others.html, alt);
  return figures.length || !others.svg ? figures : [image(others.svg, alt)];
}

function quiet(graph: Graph): void {
  graph.chosen = null;
  graph.mark([]);
}

function isAt(loc: Loc | null, file: string, line: number): boolean {
  return loc !== null && loc[0] === file && loc[1] === line;
}
