/**
 * A sheet as SVG elements: the picture of msnb/notebook/drawing/svg_renderer.py with classes instead of colours, so that it takes the theme
 * of the page, and a group `g.msnb-node` per box that can be hovered, focused and clicked.
 */

import { Sheet } from './columns';
import { svg } from './dom';
import { Curve, Drawing, FRAME_HEAD, LINE, PAD_Y, Placed, TITLE_LINE } from './layout';
import { isAlarm, lookOf } from './look';
import { Box, isGate } from './schema';

export interface Scene {
  root: SVGSVGElement;
  nodes: Map<string, SVGGElement>;
  edges: { source: string; target: string; element: SVGElement }[];
  w: number;
  h: number;
}

export type Words = (box: Box) => string;

const MARGIN = 8;

export function drawSheet(sheet: Sheet, label: Words, extra: Words): Scene {
  const [w, h] = [sheet.w + 2 * MARGIN, sheet.h + 2 * MARGIN];
  const root = svg('svg', { class: 'msnb-svg', viewBox: `0 0 ${n(w)} ${n(h)}`, width: n(w), role: 'group' });
  root.style.setProperty('--msnb-w', n(w));
  const painter = new Painter({ root, nodes: new Map(), edges: [], w, h }, label, extra);
  painter.sheet(sheet);
  return painter.scene;
}

class Painter {
  constructor(
    readonly scene: Scene,
    private label: Words,
    private extra: Words
  ) {}

  sheet(sheet: Sheet): void {
    const root = this.scene.root;
    const many = sheet.columns.length > 1;
    for (const { x, drawing } of many ? sheet.columns : []) {
      root.append(rect(MARGIN + x, MARGIN, drawing.w, sheet.h, 10, 'msnb-column'));
      root.append(text(MARGIN + x + 12, MARGIN + 18, fitting(drawing.picture.title, drawing.w - 20), 'msnb-column-title'));
    }
    const depth = many ? 1 : 0;
    sheet.columns.forEach(c => this.frames(c.drawing, MARGIN + c.x, MARGIN + c.y, depth));
    for (const { edge, start, end } of sheet.lines) {
      const line = this.across(start, end);
      this.scene.edges.push({ source: edge.source, target: edge.target, element: line });
      root.append(line);
    }
    sheet.columns.forEach(c => this.contents(root, c.drawing, MARGIN + c.x, MARGIN + c.y, depth));
  }

  private frames(drawing: Drawing, x: number, y: number, depth: number): void {
    for (const p of drawing.boxes) {
      if (p.inner) {
        this.scene.root.append(rect(x + p.x, y + p.y, p.w, p.h, 9, `msnb-frame msnb-depth-${depth % 2}`));
        this.frames(p.inner, x + p.x, y + p.y, depth + 1);
      }
    }
  }

  private contents(into: SVGElement, drawing: Drawing, x: number, y: number, depth: number): void {
    const boxes = new Map(drawing.boxes.map(p => [p.box.id, p]));
    for (const c of drawing.curves) {
      const target = boxes.get(c.edge.target) as Placed;
      const edge = curve(c, x, y, target.box.kind !== 'out' && !target.inner, drawing.picture.upwards);
      this.scene.edges.push({ source: c.edge.source, target: c.edge.target, element: edge });
      into.append(edge);
    }
    for (const p of drawing.boxes) {
      if (p.inner) {
        this.contents(into, p.inner, x + p.x, y + p.y, depth + 1);
        into.append(this.frameTitle(p, x + p.x, y + p.y));
      } else if (!isGate(p.box)) {
        into.append(this.box(p, x + p.x, y + p.y, depth));
      }
    }
  }

  private node(box: Box, classes: string): SVGGElement {
    const found = svg('g', {
      class: `msnb-node ${classes}`,
      tabindex: -1,
      role: 'button',
      'aria-label': this.label(box)
    });
    found.dataset.id = box.id;
    this.scene.nodes.set(box.id, found);
    return found;
  }

  /** The title of an open group closes it again. */
  private frameTitle(p: Placed, x: number, y: number): SVGGElement {
    const found = this.node(p.box, 'msnb-frame-title');
    found.setAttribute('aria-expanded', 'true');
    const width = [...p.box.title].length * 6.3 + 24;
    found.append(rect(x + 3, y + 3, width, FRAME_HEAD - 2, 5, 'msnb-outline'));
    found.append(text(x + 8, y + FRAME_HEAD - 5, `▾ ${p.box.title}`, 'msnb-tag'));
    return found;
  }

  private box(p: Placed, x: number, y: number, depth: number): SVGGElement {
    const { box } = p;
    const mark = !box.mark ? '' : isAlarm(box.mark) ? ' msnb-alarm' : ' msnb-new';
    const found = this.node(box, `msnb-look-${lookOf(box)}${mark}`);
    const round = ['param', 'again', 'state', 'result'].includes(box.kind) && p.h < 60;
    if (box.kind === 'group') {
      found.append(rect(x + 3, y + 3, p.w, p.h, 8, 'msnb-outline msnb-under'));
      if (box.inside) {
        found.setAttribute('aria-expanded', 'false');
      }
    }
    found.append(rect(x, y, p.w, p.h, round ? p.h / 2 : 8, 'msnb-outline'));
    const middle = x + p.w / 2;
    let line = y + PAD_Y + TITLE_LINE - 6;
    const sign = box.kind === 'group' && box.inside ? '▸ ' : '';
    found.append(text(middle, line, sign + box.title, 'msnb-title'));
    for (const words of box.lines) {
      line += LINE;
      found.append(text(middle, line, words, 'msnb-line-text'));
    }
    const badge = this.extra(box);
    if (badge) {
      found.append(text(x + p.w - 2, y - 4, badge, 'msnb-badge'));
    }
    for (const body of p.inside) {
      const inner = svg('g', { class: 'msnb-body' });
      inner.append(rect(x + body.x, y + body.y, body.drawing.w, body.drawing.h, 8, `msnb-frame msnb-depth-${depth % 2}`));
      inner.append(text(x + body.x + 9, y + body.y + FRAME_HEAD - 6, body.label, 'msnb-tag'));
      this.framesInto(inner, body.drawing, x + body.x, y + body.y, depth + 1);
      this.contents(inner, body.drawing, x + body.x, y + body.y, depth + 1);
      found.append(inner);
    }
    return found;
  }

  private framesInto(into: SVGElement, drawing: Drawing, x: number, y: number, depth: number): void {
    for (const p of drawing.boxes) {
      if (p.inner) {
        into.append(rect(x + p.x, y + p.y, p.w, p.h, 9, `msnb-frame msnb-depth-${depth % 2}`));
        this.framesInto(into, p.inner, x + p.x, y + p.y, depth + 1);
      }
    }
  }

  private across([x0, y0]: [number, number], [x1, y1]: [number, number]): SVGGElement {
    const sign = x1 > x0 ? 1 : -1;
    const [a, b, c, d] = [x0 + MARGIN, y0 + MARGIN, x1 + MARGIN - 5 * sign, y1 + MARGIN];
    const bend = Math.max(Math.abs(c - a) / 2, 30) * sign;
    const path = `M${n(a)} ${n(b)}C${n(a + bend)} ${n(b)} ${n(c - bend)} ${n(d)} ${n(c)} ${n(d)}`;
    return svg('g', { class: 'msnb-edge msnb-kept' }, svg('path', { d: path }), head(c + 5 * sign, d, sign, 0));
  }
}

/** Cubic pieces, vertical where they meet a box; straight through the layers they pass. */
function curve(c: Curve, dx: number, dy: number, tipped: boolean, up: boolean): SVGGElement {
  const points = c.points.map(([x, y]) => [x + dx, y + dy]);
  const [endX, endY] = points[points.length - 1];
  const sign = up ? -1 : 1;
  if (tipped) {
    points[points.length - 1] = [endX, endY - 5 * sign];
  }
  let d = `M${n(points[0][0])} ${n(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    const bend = (y1 - y0) / 2;
    d +=
      Math.abs(x0 - x1) < 0.05
        ? `L${n(x1)} ${n(y1)}`
        : `C${n(x0)} ${n(y0 + bend)} ${n(x1)} ${n(y1 - bend)} ${n(x1)} ${n(y1)}`;
  }
  return svg('g', { class: 'msnb-edge' }, svg('path', { d }), tipped ? head(endX, endY, 0, sign) : null);
}

function head(x: number, y: number, across: number, down: number): SVGPathElement {
  const [backX, backY] = [x - 7 * across, y - 7 * down];
  const [wideX, wideY] = across ? [0, 3.4] : [3.4, 0];
  const d = `M${n(backX - wideX)} ${n(backY - wideY)}L${n(x)} ${n(y)}L${n(backX + wideX)} ${n(backY + wideY)}Z`;
  return svg('path', { d, class: 'msnb-head' });
}

/** As much of a title as a width holds. */
function fitting(title: string, width: number): string {
  const most = Math.floor(width / 6.8);
  const letters = [...title];
  return letters.length > most ? letters.slice(0, Math.max(most - 1, 1)).join('') + '…' : title;
}

function rect(x: number, y: number, w: number, h: number, rx: number, name: string): SVGRectElement {
  return svg('rect', { x: n(x), y: n(y), width: n(Math.max(w, 0)), height: n(Math.max(h, 0)), rx: n(rx), class: name });
}

function text(x: number, y: number, words: string, name: string): SVGTextElement {
  return svg('text', { x: n(x), y: n(y), class: name }, words);
}

function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}
