/**
 * A gradient program's sides next to each other (msnb/notebook/drawing/gradient_columns.py): forward flows down, backward up, and what the
 * forward side keeps crosses the gap. A line whose end is inside a closed group ends at that group.
 */

import { Drawing, IsOpen, Point, layOut } from './layout';
import { Box, Edge, Picture, walk } from './schema';

const COLUMN_GAP = 84;
const COLUMN_HEAD = 20;

export interface Across {
  edge: Edge;
  start: Point;
  end: Point;
}

export interface Sheet {
  picture: Picture;
  columns: { x: number; y: number; drawing: Drawing }[];
  lines: Across[];
  w: number;
  h: number;
}

export function layOutSheet(picture: Picture, isOpen: IsOpen): Sheet {
  if (!picture.columns.length) {
    const drawing = layOut(picture, isOpen);
    return { picture, columns: [{ x: 0, y: 0, drawing }], lines: [], w: drawing.w, h: drawing.h };
  }
  const goal = Math.max(...picture.columns.map(c => layOut(c, isOpen).h));
  const drawings = picture.columns.map(c => layOut(c, isOpen, goal));
  const tallest = Math.max(...drawings.map(d => d.h));
  const columns: Sheet['columns'] = [];
  let x = 0;
  for (const drawing of drawings) {
    columns.push({ x, y: COLUMN_HEAD + (drawing.picture.upwards ? tallest - drawing.h : 0), drawing });
    x += drawing.w + COLUMN_GAP;
  }
  return { picture, columns, lines: linesOf(picture, columns), w: x - COLUMN_GAP, h: tallest + COLUMN_HEAD };
}

type Rect = [number, number, number, number];

function rectsOf(drawing: Drawing, x: number, y: number, into: Map<string, Rect>): void {
  for (const p of drawing.boxes) {
    into.set(p.box.id, [x + p.x, y + p.y, p.w, p.h]);
    if (p.inner) {
      rectsOf(p.inner, x + p.x, y + p.y, into);
    }
  }
}

function linesOf(picture: Picture, columns: Sheet['columns']): Across[] {
  const rects = new Map<string, Rect>();
  columns.forEach(c => rectsOf(c.drawing, c.x, c.y, rects));
  const kept = visible(picture, rects);
  const ends = new Map<string, number[]>();
  kept.forEach((e, i) => {
    for (const key of [`>${e.source}`, `<${e.target}`]) {
      ends.set(key, [...(ends.get(key) ?? []), i]);
    }
  });
  const middle = (id: string): number => {
    const [, y, , h] = rects.get(id) as Rect;
    return y + h / 2;
  };
  for (const [key, members] of ends) {
    const far = (i: number) => (key[0] === '>' ? kept[i].target : kept[i].source);
    members.sort((a, b) => middle(far(a)) - middle(far(b)));
  }
  return kept.map((edge, i) => {
    const [a, b] = [rects.get(edge.source) as Rect, rects.get(edge.target) as Rect];
    const right = a[0] < b[0];
    const [leaving, entering] = [ends.get(`>${edge.source}`) as number[], ends.get(`<${edge.target}`) as number[]];
    return {
      edge,
      start: [right ? a[0] + a[2] : a[0], share(a, leaving.indexOf(i), leaving.length)],
      end: [right ? b[0] : b[0] + b[2], share(b, entering.indexOf(i), entering.length)]
    };
  });
}

/** The kept lines between what shows, each pair once. */
function visible(picture: Picture, rects: Map<string, Rect>): Edge[] {
  const parents = new Map<string, Box | null>();
  for (const [box, parent] of walk(picture)) {
    parents.set(box.id, parent);
  }
  const shown = (id: string): string | null => {
    let at: string | undefined = id;
    while (at !== undefined && !rects.has(at)) {
      at = parents.get(at)?.id;
    }
    return at ?? null;
  };
  const out = new Map<string, Edge>();
  for (const e of picture.kept) {
    const [source, target] = [shown(e.source), shown(e.target)];
    const key = JSON.stringify([source, target]);
    if (source !== null && target !== null && source !== target && !out.has(key)) {
      out.set(key, { ...e, source, target });
    }
  }
  return [...out.values()];
}

function share([, y, , h]: Rect, k: number, count: number): number {
  const step = Math.min(9, (h - 12) / Math.max(count, 1));
  return y + h / 2 + (k - (count - 1) / 2) * step;
}
