/**
 * A picture that reacts: groups open and close, boxes can be hovered, focused and chosen, numbers painted over them.
 *
 *   Tab            into the picture (one stop), then arrows to the next box in that direction
 *   Enter, Space   open or close a group; choose any other box (its line is marked and comes into view)
 *   Escape         choose nothing
 *
 * Hovering and choosing are told to `listener`; who knows the notebook marks the lines there.
 */

import { layOutSheet } from './columns';
import { button, el } from './dom';
import { Scene, drawSheet } from './draw';
import { amount, heatStep, meanings, tintLook, tints } from './look';
import { Box, Overlay, Picture, isGate, walk } from './schema';

export interface Listener {
  hovered(graph: Graph, box: Box | null): void;
  chosen(graph: Graph, box: Box | null): void;
}

const DIRECTIONS: Record<string, [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0]
};
const ZOOM = 1.25;

export class Graph {
  readonly node = el('div', { class: 'msnb-graph' });
  readonly boxes = new Map<string, Box>();
  chosen: string | null = null;
  overlay: Overlay | null = null;

  private parents = new Map<string, Box>();
  private toggled = new Map<string, boolean>();
  private canvas = el('div', { class: 'msnb-canvas' });
  private legend = el('div', { class: 'msnb-legend', 'aria-label': 'legend' });
  private told = el('div', { class: 'msnb-told', 'aria-live': 'polite' });
  private scene: Scene | null = null;
  private marked = new Set<string>();
  private zoom = 0;
  private stop = '';

  constructor(
    readonly picture: Picture,
    private overlays: Overlay[],
    private listener: Listener,
    private title: string = picture.title,
    shown: string | null = null
  ) {
    for (const [box, parent] of walk(picture)) {
      this.boxes.set(box.id, box);
      if (parent) {
        this.parents.set(box.id, parent);
      }
    }
    this.node.append(this.bar(), this.canvas, this.told, this.legend);
    this.overlay = overlays.find(o => o.name === shown) ?? null;
    this.listen();
    this.draw();
  }

  /** Boxes that a reader can find: no gates. */
  *found(): Generator<Box> {
    for (const box of this.boxes.values()) {
      if (!isGate(box)) {
        yield box;
      }
    }
  }

  get chosenBox(): Box | null {
    return this.chosen === null ? null : this.boxes.get(this.chosen) ?? null;
  }

  isOpen = (box: Box): boolean => this.toggled.get(box.id) ?? box.open;

  toggle(id: string): void {
    const box = this.boxes.get(id);
    if (box?.inside) {
      this.toggled.set(id, !this.isOpen(box));
      this.draw();
      this.focus(id);
    }
  }

  setAll(open: boolean | null): void {
    this.toggled.clear();
    for (const box of this.boxes.values()) {
      if (box.inside && open !== null) {
        this.toggled.set(box.id, open);
      }
    }
    this.draw();
  }

  /** Choose a box; groups around it are opened, and it comes into view. */
  choose(id: string | null, reveal = false): void {
    this.chosen = id;
    const box = id === null ? null : this.boxes.get(id) ?? null;
    if (box && reveal) {
      this.reveal(box);
    }
    this.paint();
    this.tell(box);
    this.listener.chosen(this, box);
  }

  /** Mark boxes whose line the cursor is on; a box inside a closed group marks the group. */
  mark(ids: Iterable<string>): void {
    this.marked = new Set([...ids].map(id => this.shown(id)));
    this.paint();
  }

  setOverlay(name: string | null): void {
    this.overlay = this.overlays.find(o => o.name === name) ?? null;
    this.picker.value = this.overlay?.name ?? '';
    this.draw();
  }

  get overlayNames(): string[] {
    return this.overlays.map(o => o.name);
  }

  /** The number of a box in an overlay; of a group what it holds. */
  numberOf(box: Box, overlay: Overlay): number {
    const own = overlay.nodes.get(box.id);
    if (own !== undefined || !box.inside) {
      return own ?? 0;
    }
    const held = box.inside.boxes.map(b => this.numberOf(b, overlay));
    return overlay.name === 'norm' ? Math.max(0, ...held) : held.reduce((a, b) => a + b, 0);
  }

  /** What a screen reader says, and the line below the picture. */
  describe(box: Box): string {
    const group = box.kind === 'group' ? (box.inside ? (this.isOpen(box) ? 'open group' : 'closed group') : 'group') : '';
    const number = this.overlay ? this.numberOf(box, this.overlay) : 0;
    const value = this.overlay && number ? `${this.overlay.title} ${amount(number, this.overlay.unit)}` : '';
    const why = box.why ? `by ${box.why}` : '';
    return [group, box.title, ...box.lines, box.scope, box.place, why, value, box.mark].filter(Boolean).join(', ');
  }

  // ---- drawing

  private picker = el('select', { class: 'msnb-select', 'aria-label': 'overlay' });

  private bar(): HTMLElement {
    const bar = el('div', { class: 'msnb-bar' }, el('span', { class: 'msnb-name' }, this.title));
    if (this.overlays.length) {
      this.picker.append(el('option', { value: '' }, 'kinds of work'));
      this.overlays.forEach(o => this.picker.append(el('option', { value: o.name }, o.title)));
      this.picker.addEventListener('change', () => this.setOverlay(this.picker.value || null));
      bar.append(this.picker);
    }
    if ([...this.boxes.values()].some(b => b.inside)) {
      bar.append(
        button('Open all', 'Open all groups', () => this.setAll(true)),
        button('Reset', 'Groups as they were saved', () => this.setAll(null))
      );
    }
    bar.append(
      button('−', 'Smaller', () => this.setZoom(-1)),
      button('+', 'Larger', () => this.setZoom(1))
    );
    return bar;
  }

  private setZoom(step: number): void {
    const now = this.zoom || this.scale();
    this.zoom = Math.min(Math.max(now * (step > 0 ? ZOOM : 1 / ZOOM), 0.2), 4);
    this.scene?.root.classList.add('msnb-zoomed');
    this.scene?.root.style.setProperty('--msnb-zoom', String(this.zoom));
  }

  private scale(): number {
    return this.scene ? this.scene.root.getBoundingClientRect().width / this.scene.w || 1 : 1;
  }

  private draw(): void {
    const focused = this.canvas.contains(document.activeElement);
    const badge = (box: Box): string => {
      const number = this.overlay ? this.numberOf(box, this.overlay) : 0;
      return this.overlay && number ? amount(number, this.overlay.unit) : '';
    };
    this.scene = drawSheet(layOutSheet(this.picture, this.isOpen), box => this.describe(box), badge);
    this.scene.root.setAttribute('aria-label', `${this.title}: ${this.scene.nodes.size} boxes; arrow keys move`);
    if (this.zoom) {
      this.scene.root.classList.add('msnb-zoomed');
      this.scene.root.style.setProperty('--msnb-zoom', String(this.zoom));
    }
    this.canvas.replaceChildren(this.scene.root);
    this.picker.value = this.overlay?.name ?? '';
    this.heat();
    this.explain();
    this.moveStop(this.scene.nodes.has(this.stop) ? this.stop : [...this.scene.nodes.keys()][0] ?? '');
    this.paint();
    if (focused) {
      this.focus(this.stop);
    }
  }

  /** Darker is larger; a norm on a logarithmic scale, all else from zero. */
  private heat(): void {
    const numbers = new Map<string, number>();
    for (const id of this.scene?.nodes.keys() ?? []) {
      const box = this.boxes.get(id) as Box;
      const number = this.overlay && !this.isShownOpen(box) ? this.numberOf(box, this.overlay) : 0;
      if (number > 0) {
        numbers.set(id, number);
      }
    }
    const finite = [...numbers.values()].filter(x => x < 1e300);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    for (const [id, number] of numbers) {
      const share =
        this.overlay?.name !== 'norm'
          ? number / high
          : high > low
            ? (Math.log10(number) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))
            : 0;
      this.scene?.nodes.get(id)?.classList.add('msnb-hot', `msnb-heat-${heatStep(Math.min(share, 1))}`);
    }
  }

  private isShownOpen(box: Box): boolean {
    return box.inside !== null && this.isOpen(box);
  }

  private explain(): void {
    const shown = [...(this.scene?.nodes.keys() ?? [])].map(id => this.boxes.get(id) as Box);
    const closed = shown.filter(b => !this.isShownOpen(b));
    const entry = (look: string, word: string) =>
      el('span', { class: 'msnb-entry' }, el('span', { class: `msnb-swatch msnb-look-${look}` }), word);
    const entries = this.overlay
      ? [entry('heat-0', 'small'), entry('heat-4', `large: ${this.overlay.title}`)]
      : [
          ...tints(closed).map(tint => entry(tintLook(tint), tint[1])),
          ...meanings(closed).map(([look, word]) => entry(look, word))
        ];
    if (this.picture.kept.length) {
      entries.push(entry('kept', 'kept for backward'));
    }
    this.legend.replaceChildren(...entries);
  }

  // ---- what is marked, chosen, hovered

  private shown(id: string): string {
    let at: string | undefined = id;
    while (at !== undefined && !this.scene?.nodes.has(at)) {
      at = this.parents.get(at)?.id;
    }
    return at ?? id;
  }

  private reveal(box: Box): void {
    for (let up = this.parents.get(box.id); up; up = this.parents.get(up.id)) {
      if (up.inside) {
        this.toggled.set(up.id, true);
      }
    }
    this.draw();
    this.moveStop(box.id);
    this.scene?.nodes.get(box.id)?.scrollIntoView({ block: 'center', inline: 'center' });
  }

  private paint(): void {
    const chosen = this.chosen === null ? null : this.shown(this.chosen);
    for (const [id, node] of this.scene?.nodes ?? []) {
      node.classList.toggle('msnb-marked', this.marked.has(id));
      node.classList.toggle('msnb-chosen', id === chosen);
      node.setAttribute('aria-pressed', String(id === chosen));
    }
    for (const edge of this.scene?.edges ?? []) {
      edge.element.classList.toggle('msnb-near', chosen !== null && (edge.source === chosen || edge.target === chosen));
    }
  }

  private hover(box: Box | null): void {
    for (const edge of this.scene?.edges ?? []) {
      edge.element.classList.toggle('msnb-hovered', !!box && (edge.source === box.id || edge.target === box.id));
    }
    this.tell(box ?? this.chosenBox);
    this.listener.hovered(this, box);
  }

  private tell(box: Box | null): void {
    this.told.textContent = box ? this.describe(box) : '';
  }

  // ---- mouse and keys

  private listen(): void {
    const boxAt = (event: Event): Box | null => {
      const node = (event.target as Element).closest<SVGGElement>('.msnb-node');
      return node ? this.boxes.get(node.dataset.id ?? '') ?? null : null;
    };
    let over: Box | null = null;
    const enter = (box: Box | null) => {
      if (box !== over) {
        over = box;
        this.hover(box);
      }
    };
    this.canvas.addEventListener('pointerover', e => enter(boxAt(e)));
    this.canvas.addEventListener('pointerleave', () => enter(null));
    this.canvas.addEventListener('focusin', e => enter(boxAt(e)));
    this.canvas.addEventListener('focusout', () => enter(null));
    this.canvas.addEventListener('click', e => {
      const box = boxAt(e);
      this.moveStop(box?.id ?? this.stop);
      this.act(box);
    });
    this.canvas.addEventListener('keydown', e => this.key(e));
  }

  private act(box: Box | null): void {
    if (box?.inside) {
      this.toggle(box.id);
    }
    this.choose(box?.id ?? null);
  }

  private key(event: KeyboardEvent): void {
    const direction = DIRECTIONS[event.key];
    if (direction) {
      this.focus(this.neighbour(this.stop, direction));
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.act(this.boxes.get(this.stop) ?? null);
    } else if (event.key === 'Escape') {
      this.choose(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** The closest box in a direction; what lies aside counts three times. */
  private neighbour(from: string, [dx, dy]: [number, number]): string {
    const place = (id: string): [number, number] => {
      const box = this.scene?.nodes.get(id)?.querySelector('.msnb-outline')?.getBoundingClientRect();
      return box ? [box.x + box.width / 2, box.y + box.height / 2] : [0, 0];
    };
    const [x, y] = place(from);
    let [best, cost] = [from, Infinity];
    for (const id of this.scene?.nodes.keys() ?? []) {
      const [u, v] = place(id);
      const along = (u - x) * dx + (v - y) * dy;
      const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      if (id !== from && along > 2 && along + 3 * aside < cost) {
        [best, cost] = [id, along + 3 * aside];
      }
    }
    return best;
  }

  /** One tab stop for the whole picture. */
  private moveStop(id: string): void {
    this.scene?.nodes.get(this.stop)?.setAttribute('tabindex', '-1');
    this.stop = id;
    this.scene?.nodes.get(id)?.setAttribute('tabindex', '0');
  }

  focus(id: string): void {
    this.moveStop(id);
    this.scene?.nodes.get(id)?.focus({ preventScroll: false });
  }
}
