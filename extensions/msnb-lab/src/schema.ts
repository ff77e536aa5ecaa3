/**
 * The bundle `application/vnd.msnb.graph.v1+json` as the kernel writes it (msnb/notebook/drawing/bundle_schema.py), read with suspicion.
 *
 * A notebook may come from anywhere, so nothing is taken for granted: `readBundle` copies what has the right form, cuts
 * what is too long, drops edges without ends, and what it returns can be laid out and drawn without further checks.
 */

export const MIME = 'application/vnd.msnb.graph.v1+json';
export const SCHEMA = 'msnb.graph';
export const VERSION = 1;

const LONG = 200;
const MOST_NODES = 20000;
const DEEPEST = 40;

/** File or cell, line, column, end column; columns are -1 where unknown. */
export type Loc = readonly [string, number, number, number];

export type Tint = readonly [number, string];

export interface Box {
  id: string;
  kind: string;
  title: string;
  lines: string[];
  family: string;
  scope: string;
  place: string;
  why: string;
  mark: string;
  heat: number | null;
  /** A number and a word (a layout) that boxes of one colour share. */
  tint: Tint | null;
  loc: Loc | null;
  ports: number;
  bodies: { label: string; picture: Picture }[];
  inside: Picture | null;
  open: boolean;
  size: number;
}

export interface Edge {
  source: string;
  target: string;
  port: number;
  label: string;
  leaving: number;
}

export interface Picture {
  title: string;
  boxes: Box[];
  edges: Edge[];
  columns: Picture[];
  kept: Edge[];
  upwards: boolean;
}

export interface Overlay {
  name: string;
  title: string;
  unit: string;
  nodes: Map<string, number>;
  marks: Map<string, string>;
}

export interface Bundle {
  kind: string;
  picture: Picture;
  calls: Picture[];
  overlays: Overlay[];
  notes: string[];
  data: Record<string, unknown>;
  truncated: boolean;
}

type Raw = Record<string, unknown>;

export function isRecord(x: unknown): x is Raw {
  return typeof x === 'object' && x !== null && !Array.isArray(x);
}

export function list(x: unknown): unknown[] {
  return Array.isArray(x) ? x : [];
}

/** Text on one line; direction marks and controls would let a name pretend to be another. */
export function words(x: unknown, most: number = LONG): string {
  const text = typeof x === 'string' ? x : typeof x === 'number' || typeof x === 'boolean' ? String(x) : '';
  const cut = text.length > most ? text.slice(0, most - 1) + '…' : text;
  return cut.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu, ' ');
}

function count(x: unknown): number {
  return typeof x === 'number' && Number.isFinite(x) && x >= 0 ? Math.min(Math.floor(x), 1e6) : 0;
}

export function readLoc(x: unknown): Loc | null {
  const [file, ...numbers] = list(x);
  if (typeof file !== 'string' || numbers.length < 3 || !numbers.every(n => typeof n === 'number')) {
    return null;
  }
  const [line, col, end] = numbers as number[];
  return [words(file), line, col, end];
}

/** One bundle; throws a sentence where it is none of ours. */
export function readBundle(x: unknown): Bundle {
  if (!isRecord(x) || x.schema !== SCHEMA) {
    throw new Error('This output is not an msnb picture.');
  }
  if (x.version !== VERSION) {
    throw new Error(`This picture has version ${words(x.version)} of its form; this msnb-lab reads version ${VERSION}.`);
  }
  const reader = new Reader();
  return {
    kind: words(x.kind),
    picture: reader.picture(x, 0),
    calls: list(x.calls).filter(isRecord).map(c => reader.picture(c, 0)),
    overlays: readOverlays(x.overlays),
    notes: list(x.notes).slice(0, 50).map(n => words(n)),
    data: isRecord(x.data) ? x.data : {},
    truncated: x.truncated === true || reader.left < 0
  };
}

/** A stored notebook sorts keys by the alphabet, so what comes first must not depend on their order. */
function rank(name: string): number {
  const at = ['norm', 'time', 'flops', 'memory'].indexOf(name);
  return at < 0 ? 9 : at;
}

/** A picture inside the data of a view: a stage of a compilation. */
export function readPicture(x: unknown): Picture | null {
  return isRecord(x) ? new Reader().picture(x, 0) : null;
}

class Reader {
  left = MOST_NODES;

  picture(raw: Raw, depth: number): Picture {
    const boxes: Box[] = [];
    const seen = new Set<string>();
    for (const item of depth > DEEPEST ? [] : list(raw.nodes)) {
      if (isRecord(item) && typeof item.id === 'string' && !seen.has(item.id) && --this.left >= 0) {
        seen.add(item.id);
        boxes.push(this.box(item, depth));
      }
    }
    const edges = list(raw.edges).map(readEdge);
    return {
      title: words(raw.title),
      boxes,
      edges: edges.filter((e): e is Edge => e !== null && seen.has(e.source) && seen.has(e.target)),
      columns: depth > 0 ? [] : list(raw.columns).filter(isRecord).map(c => this.picture(c, depth + 1)),
      kept: list(raw.kept).map(readKept).filter((e): e is Edge => e !== null),
      upwards: raw.upwards === true
    };
  }

  private box(raw: Raw, depth: number): Box {
    const bodies = list(raw.bodies).filter(isRecord);
    return {
      id: raw.id as string,
      kind: words(raw.kind),
      title: words(raw.title),
      lines: list(raw.lines).slice(0, 40).map(l => words(l)),
      family: words(raw.family),
      scope: words(raw.scope),
      place: words(raw.place),
      why: words(raw.why),
      mark: words(raw.mark),
      heat: typeof raw.heat === 'number' && raw.heat >= 0 && raw.heat <= 1 ? raw.heat : null,
      tint: readTint(raw.tint),
      loc: readLoc(raw.loc),
      ports: count(raw.ports),
      bodies: bodies.map(b => ({ label: words(b.label), picture: this.picture(b, depth + 1) })),
      inside: isRecord(raw.inside) ? this.picture(raw.inside, depth + 1) : null,
      open: raw.open === true,
      size: count(raw.size)
    };
  }
}

function readTint(x: unknown): Tint | null {
  const [index, word] = list(x);
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 ? [index, words(word)] : null;
}

function readEdge(x: unknown): Edge | null {
  const [source, target, port, label, leaving] = list(x);
  if (typeof source !== 'string' || typeof target !== 'string' || source === target) {
    return null;
  }
  return { source, target, port: count(port), label: words(label), leaving: count(leaving) };
}

function readKept(x: unknown): Edge | null {
  const [source, target, label] = list(x);
  return readEdge([source, target, 0, label]);
}

function readOverlays(x: unknown): Overlay[] {
  if (!isRecord(x)) {
    return [];
  }
  return Object.entries(x)
    .filter((entry): entry is [string, Raw] => isRecord(entry[1]))
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([name, raw]) => ({
      name: words(name),
      title: words(raw.title),
      unit: words(raw.unit),
      nodes: entries(raw.nodes, (n): n is number => typeof n === 'number' && Number.isFinite(n)),
      marks: new Map([...entries(raw.marks, (m): m is string => typeof m === 'string')].map(([k, m]) => [k, words(m)]))
    }));
}

function entries<T>(x: unknown, fits: (value: unknown) => value is T): Map<string, T> {
  const found = new Map<string, T>();
  for (const [key, value] of isRecord(x) ? Object.entries(x) : []) {
    if (fits(value)) {
      found.set(key, value);
    }
  }
  return found;
}

/** Every box of a picture, outer ones first, with the group around it. */
export function* walk(picture: Picture, parent: Box | null = null): Generator<[Box, Box | null]> {
  for (const box of picture.boxes) {
    yield [box, parent];
    for (const body of box.bodies) {
      yield* walk(body.picture, box);
    }
    if (box.inside) {
      yield* walk(box.inside, box);
    }
  }
  for (const column of picture.columns) {
    yield* walk(column, parent);
  }
}

export function isGate(box: Box): boolean {
  return box.kind === 'in' || box.kind === 'out';
}
