/**
 * A compilation with a slider: every stage and every rewrite of it is one position.
 *
 *   o-------o---o---o-------o        law, why, before -> after, line; the program before and after the stage
 *   captured   algebra       dce
 */

import { button, el } from './dom';
import { Graph, Listener } from './graph';
import { Picture, isRecord, readPicture, words } from './schema';
import { Row, placeLink, rowsOf } from './tables';

interface Stop {
  stage: number;
  rewrite: Row | null;
}

const MOST_STOPS = 2000;

export class Slider {
  readonly node: HTMLElement;
  readonly input: HTMLInputElement;

  constructor(
    count: number,
    label: string,
    private show: (position: number) => string
  ) {
    this.input = el('input', { type: 'range', min: 0, max: Math.max(count - 1, 0), value: 0, 'aria-label': label });
    this.input.addEventListener('input', () => this.move(Number(this.input.value)));
    this.node = el(
      'div',
      { class: 'msnb-slider' },
      button('◂', 'Back', () => this.move(this.position - 1)),
      this.input,
      button('▸', 'On', () => this.move(this.position + 1)),
      this.count
    );
  }

  private count = el('span', { class: 'msnb-count' });

  get position(): number {
    return Number(this.input.value);
  }

  move(position: number): void {
    const most = Number(this.input.max);
    this.input.value = String(Math.min(Math.max(position, 0), most));
    this.input.setAttribute('aria-valuetext', this.show(this.position));
    this.count.textContent = `${this.position + 1} of ${most + 1}`;
  }
}

export class Stages {
  readonly node = el('div', { class: 'msnb-stages' });
  readonly slider: Slider;
  graphs: Graph[] = [];

  private stages: Row[];
  private pictures: (Picture | null)[];
  private stops: Stop[];
  private told = el('div', { class: 'msnb-law', 'aria-live': 'polite' });
  private pair = el('div', { class: 'msnb-pair' });
  private drawn = -1;

  constructor(
    data: Record<string, unknown>,
    private listener: Listener
  ) {
    this.stages = rowsOf(data.stages);
    this.pictures = this.stages.map(s => (isRecord(s.picture) ? readPicture(s.picture) : null));
    const rewrites = rowsOf(data.rewrites);
    this.stops = this.stages.flatMap((_, stage) => [
      { stage, rewrite: null },
      ...rewrites.filter(r => r.stage === stage).map(rewrite => ({ stage, rewrite }))
    ]);
    this.stops = this.stops.slice(0, MOST_STOPS);
    this.slider = new Slider(this.stops.length, 'stage or rewrite', i => this.show(i));
    this.node.append(this.slider.node, this.told, this.pair);
    this.slider.move(0);
  }

  private show(position: number): string {
    const stop = this.stops[position];
    if (!stop) {
      return '';
    }
    const stage = this.stages[stop.stage];
    const facts = stop.rewrite ? rewriteFacts(stop.rewrite) : stageFacts(stage);
    this.told.replaceChildren(el('b', {}, words(stage.stage)), ...facts);
    this.drawStage(stop.stage);
    return `${words(stage.stage)}: ${this.told.textContent}`;
  }

  private drawStage(stage: number): void {
    if (stage === this.drawn) {
      return;
    }
    this.drawn = stage;
    const last = (upTo: number) => this.pictures.slice(0, upTo).reverse().find(p => p !== null) ?? null;
    const after = this.pictures[stage] ?? last(stage + 1);
    const before = stage > 0 && this.pictures[stage] ? last(stage) : null;
    const name = words(this.stages[stage].stage);
    this.graphs = [
      ...(before ? [new Graph(before, [], this.listener, `before ${name}`)] : []),
      ...(after ? [new Graph(after, [], this.listener, before ? `after ${name}` : name)] : [])
    ];
    this.pair.replaceChildren(...this.graphs.map(g => g.node));
  }
}

function stageFacts(stage: Row): HTMLElement[] {
  const gap = words(stage.difference);
  const facts = [`${words(stage.rewrites)} rewrites, ${words(stage.nodes)} nodes`];
  if (gap) {
    facts.push(gap === 'not checked' ? gap : `largest difference of the results ${gap}`);
  }
  return [fact('', facts.join('; ')), fact('law', words(stage.law))];
}

function rewriteFacts(rewrite: Row): HTMLElement[] {
  const place = words(rewrite.line);
  return [
    fact('law', words(rewrite.law)),
    fact('why', words(rewrite.why)),
    el(
      'div',
      { class: 'msnb-rewrite' },
      el('code', { class: 'msnb-before' }, words(rewrite.before)),
      ' → ',
      el('code', { class: 'msnb-after' }, words(rewrite.after) || 'nothing'),
      ...(place ? [' ', placeLink(place)] : [])
    )
  ];
}

function fact(name: string, value: string): HTMLElement {
  return el('div', {}, name ? el('span', { class: 'msnb-fact' }, `${name} `) : null, value);
}
