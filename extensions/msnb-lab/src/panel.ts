/** The side panel: which picture, search in it, overlays, the pass slider, compare with another picture. */

import { Widget } from '@lumino/widgets';
import { BundleView } from './bundle';
import { changes } from './compare';
import { Child, button, el, keepKeys, svg } from './dom';
import { Graph } from './graph';
import { hub } from './hub';
import { Box } from './schema';

const MOST_FOUND = 200;

export class Panel extends Widget {
  readonly search = el('input', { type: 'search', class: 'msnb-search', placeholder: 'op, name, scope, type, line' });
  private pictures = el('select', { class: 'msnb-select', 'aria-label': 'picture' });
  private results = el('ul', { class: 'msnb-results', role: 'listbox', 'aria-label': 'found boxes' });
  private overlays = el('div', { class: 'msnb-choices', role: 'radiogroup', 'aria-label': 'overlay' });
  private slider = el('div', {});
  private other = el('select', { class: 'msnb-select', 'aria-label': 'compare with' });
  private differences = el('div', { class: 'msnb-differences' });
  private scope: () => HTMLElement;

  constructor(scope: () => HTMLElement | null) {
    super();
    this.id = 'msnb-panel';
    this.scope = () => scope() ?? document.body;
    this.title.caption = 'msnb: pictures of programs';
    this.title.icon = { render: host => host.replaceChildren(icon()) };
    this.addClass('msnb-panel');
    this.search.setAttribute('aria-label', 'search in the picture');
    this.node.append(
      section('Picture', this.pictures),
      section('Search', this.search, this.results),
      section('Overlay', this.overlays),
      section('Passes', this.slider),
      section('Compare', this.other, button('Compare', 'Compare the two pictures', () => this.compare()), this.differences)
    );
    keepKeys(this.node);
    this.search.addEventListener('input', () => this.find());
    this.search.addEventListener('keydown', e => this.keys(e));
    this.results.addEventListener('keydown', e => this.keys(e));
    this.pictures.addEventListener('change', () => this.pick());
    hub.watch(() => this.isVisible && this.refresh());
  }

  protected onAfterShow(): void {
    this.refresh();
  }

  private get all(): BundleView[] {
    return hub.inside(this.scope()) as unknown as BundleView[];
  }

  private get view(): BundleView | null {
    const current = hub.current as unknown as BundleView | null;
    return current && this.all.includes(current) ? current : this.all[0] ?? null;
  }

  private get graph(): Graph | null {
    return this.view?.graphs[0] ?? null;
  }

  refresh(): void {
    const [all, view] = [this.all, this.view];
    const options = (skip: BundleView | null) =>
      all.flatMap((v, i) => (v === skip ? [] : [el('option', { value: i }, `${i + 1}. ${v.node.getAttribute('aria-label')}`)]));
    this.pictures.replaceChildren(...options(null));
    this.pictures.value = String(view ? all.indexOf(view) : -1);
    this.other.replaceChildren(...options(view));
    this.differences.replaceChildren();
    this.node.classList.toggle('msnb-empty', !view);
    this.find();
    this.showOverlays();
    this.showSlider();
  }

  private pick(): void {
    const view = this.all[Number(this.pictures.value)];
    if (view) {
      view.node.scrollIntoView({ block: 'start' });
      hub.select(view);
    }
  }

  // ---- search

  private find(): void {
    const wanted = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (box: Box) => {
      const own = box.kind === 'group' ? [] : [...box.lines, box.scope, box.place, box.why, box.kind, box.mark];
      const text = [box.title, ...own].join(' ').toLowerCase();
      return wanted.every(w => text.includes(w));
    };
    const found = (this.view?.graphs ?? []).flatMap(g => [...g.found()].filter(fits).map(b => [g, b] as const));
    const shown = wanted.length ? found.slice(0, MOST_FOUND) : [];
    this.results.replaceChildren(...shown.map(([graph, box]) => entry(graph, box)));
    this.results.setAttribute('aria-label', `${shown.length} found boxes`);
    this.graph?.mark(shown.map(([, box]) => box.id));
  }

  /** Arrows go from the field into the list and through it; Enter shows the box. */
  private keys(event: KeyboardEvent): void {
    const entries = [...this.results.querySelectorAll<HTMLElement>('.msnb-result')];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'ArrowDown') {
      entries[Math.min(at + 1, entries.length - 1)]?.focus();
    } else if (event.key === 'ArrowUp') {
      (at <= 0 ? this.search : entries[at - 1]).focus();
    } else if (event.key === 'Enter') {
      (at < 0 ? entries[0] : entries[at])?.click();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- overlays, passes

  private showOverlays(): void {
    const graph = this.graph;
    const names = graph?.overlayNames ?? [];
    const choice = (name: string, label: string) => {
      const input = el('input', { type: 'radio', name: 'msnb-overlay', value: name });
      input.checked = (graph?.overlay?.name ?? '') === name;
      input.addEventListener('change', () => graph?.setOverlay(name || null));
      return el('label', { class: 'msnb-choice' }, input, label);
    };
    const told = names.length ? ['', ...names].map(n => choice(n, n || 'none')) : ['This picture carries no numbers.'];
    this.overlays.replaceChildren(...told);
  }

  nextOverlay(): void {
    const names = ['', ...(this.graph?.overlayNames ?? [])];
    const at = names.indexOf(this.graph?.overlay?.name ?? '');
    this.graph?.setOverlay(names[(at + 1) % names.length] || null);
    this.showOverlays();
  }

  private showSlider(): void {
    const slider = this.view?.moves?.slider;
    if (!slider) {
      this.slider.replaceChildren('Show %ms_passes to move through a compilation.');
      return;
    }
    const input = el('input', { type: 'range', min: 0, max: slider.input.max, 'aria-label': 'stage or rewrite' });
    input.value = slider.input.value;
    input.addEventListener('input', () => slider.move(Number(input.value)));
    this.slider.replaceChildren(input);
  }

  // ---- compare

  compare(): void {
    const [first, second] = [this.graph, this.all[Number(this.other.value)]?.graphs[0]];
    if (!first || !second) {
      this.differences.replaceChildren('Two pictures are needed.');
      return;
    }
    const found = changes(first, second);
    for (const graph of [first, second]) {
      graph.mark(found.filter(c => c.graph === graph).map(c => c.box.id));
    }
    const rows = found.slice(0, MOST_FOUND).map(({ sign, box, graph }) => entry(graph, box, sign));
    const told = found.length ? `${found.length} boxes differ` : 'The same boxes in both.';
    this.differences.replaceChildren(el('div', {}, told), el('ul', { class: 'msnb-results' }, ...rows));
  }
}

function icon(): SVGElement {
  const tree = svg('path', { class: 'jp-icon3', fill: '#616161', d: 'M2 2h6v4H6v2h6v2h4v4h-6v-2H6v2h2v2H2v-4h2V6H2z' });
  return svg('svg', { viewBox: '0 0 18 18', width: 20, height: 20 }, tree);
}

function section(title: string, ...children: Child[]): HTMLElement {
  return el('section', { class: 'msnb-section', 'aria-label': title }, el('h3', {}, title), ...children);
}

function entry(graph: Graph, box: Box, sign = ''): HTMLElement {
  const words = [box.lines.join(' '), box.scope, box.place].filter(Boolean).join(' · ');
  const found = el(
    'li',
    { class: 'msnb-result', tabindex: -1, role: sign ? 'button' : 'option' },
    sign ? el('b', { class: sign === '-' ? 'msnb-before' : 'msnb-after' }, sign === '-' ? '− ' : '+ ') : null,
    el('b', {}, box.title),
    el('div', { class: 'msnb-small' }, words)
  );
  found.addEventListener('click', () => graph.choose(box.id, true));
  found.addEventListener('pointerenter', () => hub.marker?.mark(graph.node, box, false));
  return found;
}
