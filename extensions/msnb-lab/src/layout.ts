/**
 * Where the boxes go: the layered drawing of msnb/notebook/drawing/layered_layout.py, step for step, so that a picture in JupyterLab is
 * the saved picture, and a group that is opened gets its place at once, without a kernel.
 *
 *   1 layers     a box stands below everything it reads; inputs move down next to their first reader
 *   2 dummies    an edge that passes layers gets an invisible point in each
 *   3 order      sweeps up and down, each layer sorted by the mean place of its neighbours
 *   4 places     sweeps again: isotonic regression towards the neighbours' places
 *   5 edges      points that bend between layers only
 *
 * tests/browser/test_drawing.py holds the two against each other, number by number.
 */

import { Box, Edge, Picture, isGate } from './schema';

export const FRAME_HEAD = 20;
export const LINE = 14;
export const PAD_Y = 7;
export const TITLE_LINE = 18;
const CHAR = 6.4;
const TITLE_CHAR = 7.9;
const PAD_X = 12;
const GAP_X = 22;
const GAP_Y = 30;
const FRAME_GAP = 12;
const STRETCH = 70;
const SWEEPS = 8;
const MAX_DUMMIES = 4000;
const LIGHT = 4;

export type IsOpen = (box: Box) => boolean;
export type Point = [number, number];

export interface Placed {
  box: Box;
  x: number;
  y: number;
  w: number;
  h: number;
  inside: { label: string; x: number; y: number; drawing: Drawing }[];
  inner: Drawing | null;
  entry: number[];
  exit: number[];
}

export interface Curve {
  edge: Edge;
  points: Point[];
}

export interface Drawing {
  picture: Picture;
  boxes: Placed[];
  curves: Curve[];
  w: number;
  h: number;
}

export function layOut(picture: Picture, isOpen: IsOpen, height = 0): Drawing {
  return new Layout(picture, isOpen).run(height);
}

function length(text: string): number {
  return [...text].length;
}

function sizeOf(box: Box, isOpen: IsOpen): Placed {
  const placed: Placed = { box, x: 0, y: 0, w: 6, h: 0, inside: [], inner: null, entry: [], exit: [] };
  if (isGate(box)) {
    return placed;
  }
  if (box.inside && isOpen(box)) {
    return opened(placed, box.inside, isOpen);
  }
  let width = Math.max(length(box.title) * TITLE_CHAR, ...box.lines.map(l => length(l) * CHAR)) + 2 * PAD_X;
  width += box.kind === 'node' ? 0 : 10;
  placed.w = Math.max(width, Math.min(14 * box.ports + 10, 300));
  placed.h = TITLE_LINE + LINE * box.lines.length + 2 * PAD_Y - 2;
  if (box.bodies.length) {
    nest(placed, isOpen);
  }
  return placed;
}

function opened(placed: Placed, inside: Picture, isOpen: IsOpen): Placed {
  const drawing = layOut(inside, isOpen);
  const width = Math.max(drawing.w, length(placed.box.title) * CHAR + 3 * PAD_X);
  const shift = (width - drawing.w) / 2;
  for (const p of drawing.boxes) {
    p.x += shift;
  }
  for (const curve of drawing.curves) {
    curve.points = curve.points.map(([x, y]) => [x + shift, y]);
  }
  drawing.w = width;
  Object.assign(placed, { w: width, h: drawing.h, inner: drawing });
  placed.entry = drawing.boxes.filter(p => p.box.kind === 'in').map(p => p.x + p.w / 2);
  placed.exit = drawing.boxes.filter(p => p.box.kind === 'out').map(p => p.x + p.w / 2);
  return placed;
}

function nest(placed: Placed, isOpen: IsOpen): void {
  const top = placed.h + 2;
  let x = FRAME_GAP;
  for (const { label, picture } of placed.box.bodies) {
    const drawing = layOut(picture, isOpen);
    placed.inside.push({ label, x, y: top, drawing });
    x += Math.max(drawing.w, length(label) * CHAR + 2 * PAD_X) + FRAME_GAP;
  }
  placed.w = Math.max(placed.w, x);
  for (const body of placed.inside) {
    body.x += (placed.w - x) / 2;
  }
  placed.h = top + Math.max(0, ...placed.inside.map(b => b.drawing.h)) + FRAME_GAP;
}

class Spot {
  width: number;
  weight: number;
  above: Spot[] = [];
  below: Spot[] = [];
  tilt = 0;
  center = 0;
  order = 0;

  constructor(
    readonly placed: Placed | null,
    readonly layer: number,
    readonly pull: number
  ) {
    this.width = placed ? placed.w : 6;
    this.weight = placed ? 1 : 4;
  }
}

type Chain = [Edge, Spot[]];

class Layout {
  private placed: Placed[];
  private index: Map<string, number>;
  private edges: Edge[];
  private layers: Spot[][] = [];
  private chains: Chain[] = [];

  constructor(
    private picture: Picture,
    isOpen: IsOpen
  ) {
    this.placed = picture.boxes.map(b => sizeOf(b, isOpen));
    this.index = new Map(picture.boxes.map((b, i) => [b.id, i]));
    this.edges = this.distinct();
  }

  run(height: number): Drawing {
    if (!this.placed.length) {
      return { picture: this.picture, boxes: [], curves: [], w: 40, h: 10 };
    }
    this.makeLayers();
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      this.sort(sweep % 2 === 0);
    }
    this.firstPlaces();
    for (let sweep = 0; sweep <= SWEEPS; sweep++) {
      this.place(sweep % 2 === 0);
    }
    this.gather();
    const found = this.finish(GAP_Y);
    const rows = this.layers.length - 1;
    if (height <= found.h || !rows) {
      return found;
    }
    return this.finish(GAP_Y + Math.min((height - found.h) / rows, STRETCH));
  }

  private at(id: string): number {
    return this.index.get(id) as number;
  }

  /** The edges; several from one box into one closed group are one. */
  private distinct(): Edge[] {
    const out = new Map<string, Edge>();
    for (const e of this.picture.edges) {
      const source = this.placed[this.at(e.source)];
      const target = this.placed[this.at(e.target)];
      const leaving = source.exit.length ? e.leaving : 0;
      const port = target.box.kind === 'group' && !target.entry.length ? 0 : e.port;
      const key = JSON.stringify([e.source, leaving, e.target, port]);
      if (!out.has(key)) {
        out.set(key, e);
      }
    }
    return [...out.values()];
  }

  // ---- 1, 2: layers and dummies

  private levels(): [number[], number[]] {
    const level = this.placed.map(() => 0);
    for (const e of this.edges) {
      const [s, t] = [this.at(e.source), this.at(e.target)];
      level[t] = Math.max(level[t], level[s] + 1);
    }
    const depth = [...level];
    this.pullDown(level);
    this.toTheBorder(level);
    return [level, depth];
  }

  private toTheBorder(level: number[]): void {
    const kinds = this.placed.map(p => p.box.kind);
    const inner = level.filter((_, i) => !isGate(this.placed[i].box));
    const first = Math.min(...(inner.length ? inner : [0])) - 1;
    const last = Math.max(...(inner.length ? inner : [0])) + 1;
    kinds.forEach((kind, i) => {
      level[i] = kind === 'in' ? first : kind === 'out' ? last : level[i];
    });
  }

  private pullDown(level: number[]): void {
    const readers = new Map<number, number[]>();
    for (const e of this.edges) {
      const s = this.at(e.source);
      readers.set(s, [...(readers.get(s) ?? []), this.at(e.target)]);
    }
    for (let i = this.placed.length - 1; i >= 0; i--) {
      const found = readers.get(i);
      if (found && this.placed[i].box.kind !== 'in') {
        level[i] = Math.min(...found.map(t => level[t])) - 1;
      }
    }
  }

  private makeLayers(): void {
    const [level, depth] = this.levels();
    const lowest = Math.min(...level);
    const spots = this.placed.map((p, i) => new Spot(p, level[i] - lowest, (1 + depth[i]) ** 2));
    this.layers = Array.from({ length: Math.max(...level) - lowest + 1 }, () => []);
    for (const spot of spots) {
      this.layers[spot.layer].push(spot);
    }
    let spare = MAX_DUMMIES;
    for (const e of this.edges) {
      spare -= this.chain(e, spots[this.at(e.source)], spots[this.at(e.target)], spare);
    }
    for (const layer of this.layers) {
      layer.forEach((spot, i) => (spot.order = i));
    }
  }

  private chain(edge: Edge, source: Spot, target: Spot, spare: number): number {
    const chain = [source];
    const far = target.layer - source.layer;
    for (let n = source.layer + 1; far <= spare && n < target.layer; n++) {
      const dummy = new Spot(null, n, source.pull);
      this.layers[n].push(dummy);
      chain.push(dummy);
    }
    chain.push(target);
    for (let i = 1; i < chain.length; i++) {
      chain[i - 1].below.push(chain[i]);
      chain[i].above.push(chain[i - 1]);
    }
    chain[chain.length - 2].tilt = 0.01 * edge.port;
    this.chains.push([edge, chain]);
    return chain.length - 2;
  }

  // ---- 3: order

  private sort(down: boolean): void {
    for (const layer of down ? this.layers : [...this.layers].reverse()) {
      for (const spot of layer) {
        const near = down ? spot.above : spot.below;
        if (near.length) {
          spot.order = sum(near.map(n => n.order)) / near.length + (down ? 0 : spot.tilt);
        }
      }
      layer.sort((a, b) => a.order - b.order);
      layer.forEach((spot, i) => (spot.order = i - layer.length / 2));
    }
  }

  // ---- 4: places

  private firstPlaces(): void {
    for (const layer of this.layers) {
      let x = -sum(layer.map(s => s.width + GAP_X)) / 2;
      for (const spot of layer) {
        spot.center = x + spot.width / 2;
        x += spot.width + GAP_X;
      }
    }
  }

  private place(down: boolean): void {
    for (const layer of down ? this.layers : [...this.layers].reverse()) {
      const found = spread(layer, layer.map(s => wish(s, down)));
      layer.forEach((spot, i) => (spot.center = found[i]));
    }
  }

  /** Inputs and what little hangs on them alone move to their readers; the spine stays where it is. */
  private gather(): void {
    for (const layer of [...this.layers].reverse()) {
      const light = layer.map(s => s.placed !== null && s.pull <= LIGHT && s.below.length > 0);
      const wanted = layer.map((s, i) => (light[i] ? wish(s, false) : s.center));
      const before = layer.map(s => s.weight);
      layer.forEach((spot, i) => (spot.weight = light[i] ? 1 : 1e6));
      const found = spread(layer, wanted);
      layer.forEach((spot, i) => {
        spot.center = found[i];
        spot.weight = before[i];
      });
    }
  }

  // ---- 5: the drawing

  private finish(gap: number): Drawing {
    const all = this.layers.flat();
    const left = least(all.map(s => s.center - s.width / 2)) - FRAME_GAP;
    const [tops, height] = this.tops(gap);
    this.layers.forEach((layer, n) => {
      const [top, tall] = tops[n];
      for (const s of layer) {
        s.center -= left;
        if (s.placed) {
          s.placed.x = s.center - s.width / 2;
          s.placed.y = top + this.down(s.placed) * (tall - s.placed.h);
        }
      }
    });
    const width = -least(all.map(s => -(s.center + s.width / 2))) + FRAME_GAP;
    return { picture: this.picture, boxes: this.placed, curves: this.curves(tops), w: width, h: height };
  }

  private down(placed: Placed): number {
    if (!['param', 'state', 'again'].includes(placed.box.kind)) {
      return 0.5;
    }
    return this.picture.upwards ? 0 : 1;
  }

  private tops(gap: number): [Point[], number] {
    const order = this.layers.map((_, i) => i);
    const rows = this.picture.upwards ? [...order].reverse() : order;
    const [first, last] = [rows[0], rows[rows.length - 1]];
    const found: Point[] = [];
    let y = FRAME_HEAD + (this.isBorder(first) ? FRAME_GAP : 0);
    for (const n of rows) {
      if (this.isBorder(n)) {
        found[n] = [n === first ? 0 : y - gap + FRAME_GAP, 0];
        continue;
      }
      const tall = Math.max(0, ...this.layers[n].map(s => (s.placed ? s.placed.h : 0)));
      found[n] = [y, tall];
      y += tall + gap;
    }
    const bottom = y - gap + FRAME_GAP + (this.isBorder(last) ? 4 : 0);
    if (this.isBorder(last)) {
      found[last] = [bottom, 0];
    }
    return [found, bottom];
  }

  private isBorder(layer: number): boolean {
    return this.layers[layer].some(s => s.placed !== null && isGate(s.placed.box));
  }

  private curves(tops: Point[]): Curve[] {
    const ports = this.portPlaces();
    return this.chains.map(([edge, chain], i) => ({
      edge,
      points: pointsOf(edge, chain, tops, ports.get(i) as number, this.picture.upwards)
    }));
  }

  private portPlaces(): Map<number, number> {
    const entering = new Map<string, number[]>();
    this.chains.forEach(([edge], i) => {
      entering.set(edge.target, [...(entering.get(edge.target) ?? []), i]);
    });
    const out = new Map<number, number>();
    for (const [target, edges] of entering) {
      const placed = this.placed[this.at(target)];
      if (placed.entry.length) {
        edges.forEach(i => out.set(i, placed.x + (placed.entry[this.chains[i][0].port] ?? placed.entry[0])));
        continue;
      }
      if (placed.inside.length || placed.box.kind === 'group') {
        edges.sort((a, b) => before(this.chains[a]).center - before(this.chains[b]).center);
      }
      const step = Math.min(16, (placed.w - 20) / edges.length);
      edges.forEach((i, k) => out.set(i, placed.x + placed.w / 2 + (k - (edges.length - 1) / 2) * step));
    }
    return out;
  }
}

function before([, chain]: Chain): Spot {
  return chain[chain.length - 2];
}

function pointsOf(edge: Edge, chain: Spot[], tops: Point[], port: number, up: boolean): Point[] {
  const last = chain[chain.length - 1];
  const source = chain[0].placed as Placed;
  const target = last.placed as Placed;
  const start = source.x + (source.exit.length ? source.exit[edge.leaving] ?? source.exit[0] : source.w / 2);
  const points: Point[] = [[start, up ? source.y : source.y + source.h]];
  const leave = border(tops[chain[0].layer], !up);
  if (Math.abs(leave - points[0][1]) > 1) {
    points.push([start, leave]);
  }
  for (const dummy of chain.slice(1, -1)) {
    points.push([dummy.center, border(tops[dummy.layer], up)], [dummy.center, border(tops[dummy.layer], !up)]);
  }
  const end = up ? target.y + target.h : target.y;
  const arrive = border(tops[last.layer], up);
  if (Math.abs(arrive - end) > 1) {
    points.push([port, arrive]);
  }
  points.push([port, end]);
  return points;
}

function border([top, tall]: Point, below: boolean): number {
  return below ? top + tall : top;
}

function wish(spot: Spot, down: boolean): number {
  const near = spot.placed === null ? [...spot.above, ...spot.below] : down ? spot.above : spot.below;
  if (!near.length) {
    return spot.center;
  }
  if (!down || spot.placed === null) {
    return sum(near.map(n => n.center)) / near.length;
  }
  return sum(near.map(n => n.center * n.pull)) / sum(near.map(n => n.pull));
}

/** The centers closest to the wishes (least squares) that keep the order and the gaps: pool what would collide. */
function spread(layer: Spot[], wanted: number[]): number[] {
  const offsets = [0];
  for (let i = 1; i < layer.length; i++) {
    const gap = layer[i - 1].placed && layer[i].placed ? GAP_X : GAP_X / 2;
    offsets.push(offsets[i - 1] + (layer[i - 1].width + layer[i].width) / 2 + gap);
  }
  const pools: [number, number, number][] = [];
  layer.forEach((spot, i) => {
    let [mean, weight, members] = [wanted[i] - offsets[i], spot.weight, 1];
    while (pools.length && pools[pools.length - 1][0] > mean) {
      const [other, more, n] = pools.pop() as [number, number, number];
      mean = (mean * weight + other * more) / (weight + more);
      weight += more;
      members += n;
    }
    pools.push([mean, weight, members]);
  });
  const flat = pools.flatMap(([mean, , members]) => new Array<number>(members).fill(mean));
  return flat.map((mean, i) => mean + offsets[i]);
}

function sum(numbers: number[]): number {
  let total = 0;
  for (const x of numbers) {
    total += x;
  }
  return total;
}

/** Math.min of a long list would overflow the stack. */
function least(numbers: number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b), Infinity);
}
