/** The colour language of msnb/notebook/drawing/colors.py as names of classes; the colours themselves are in style.css. */

import { Box, Tint } from './schema';

const LOOKS: Record<string, string[]> = {
  blue: ['elementwise', 'transcendental', 'logic', 'compare', 'casting', 'erf', 'activation'],
  violet: ['contract', 'conv', 'linalg', 'einsum'],
  amber: ['reduce', 'cumulative', 'norm', 'pool'],
  red: ['loss', 'optimise'],
  teal: [
    'triangle', 'shape', 'join', 'slicing', 'getitem', 'index', 'scatter', 'padding', 'sorting', 'selection'
  ],
  green: ['random'],
  control: ['control', 'effects']
};
const OF_FAMILY = new Map(Object.entries(LOOKS).flatMap(([look, families]) => families.map(f => [f, look])));
const KINDS = ['param', 'again', 'state', 'result', 'group'];
const MEANING: [string, string][] = [
  ['blue', 'elementwise'],
  ['violet', 'matmul, conv'],
  ['amber', 'reduce, norm, pool'],
  ['red', 'loss, optimiser'],
  ['teal', 'shape, index'],
  ['green', 'random'],
  ['control', 'control, effects'],
  ['grey', 'constant, other'],
  ['param', 'input'],
  ['again', 'input, shown again'],
  ['state', 'state'],
  ['result', 'result'],
  ['group', 'closed group']
];

const TINTS = ['grey', 'blue', 'amber', 'teal', 'violet', 'green', 'red', 'pink', 'control'];

export const HEAT_STEPS = 5;

export function tintLook(tint: Tint): string {
  return TINTS[tint[0] % TINTS.length];
}

export function lookOf(box: Box): string {
  return box.tint ? tintLook(box.tint) : ownLook(box);
}

/** What a box is, whatever colour a view gives it. */
function ownLook(box: Box): string {
  if (KINDS.includes(box.kind)) {
    return box.kind;
  }
  return box.kind === 'constant' ? 'grey' : OF_FAMILY.get(box.family) ?? 'grey';
}

/** The tints of some boxes, each once, by number. */
export function tints(boxes: Box[]): Tint[] {
  const found = new Map(boxes.flatMap(b => (b.tint ? [[b.tint.join(), b.tint] as const] : [])));
  return [...found.values()].sort((a, b) => a[0] - b[0]);
}

/** The looks of some boxes that need a word, in a fixed order. */
export function meanings(boxes: Box[]): [string, string][] {
  const looks = new Set(boxes.filter(b => !b.tint || KINDS.includes(b.kind)).map(ownLook));
  return MEANING.filter(([look]) => looks.has(look));
}

export function heatStep(share: number): number {
  return Math.min(Math.floor(share * HEAT_STEPS), HEAT_STEPS - 1);
}

export function isAlarm(mark: string): boolean {
  return mark !== '' && mark !== 'new' && mark !== 'changed';
}

/** `1.5 KB`, `2.1 Mflops`, `3.2 µs`, `1.2e-4`. */
export function amount(value: number, unit: string): string {
  if (value > 1e300) {
    return 'not finite';
  }
  if (unit === 'B') {
    return scaled(value, 1024, ['B', 'KB', 'MB', 'GB', 'TB']);
  }
  if (unit === 's') {
    return value >= 1 ? `${short(value)} s` : value >= 1e-3 ? `${short(value * 1e3)} ms` : `${short(value * 1e6)} µs`;
  }
  if (unit === 'flops') {
    return scaled(value, 1000, ['flops', 'kflops', 'Mflops', 'Gflops', 'Tflops']);
  }
  return `${short(value)} ${unit}`.trim();
}

function scaled(value: number, base: number, units: string[]): string {
  let k = 0;
  while (value >= base && k < units.length - 1) {
    value /= base;
    k++;
  }
  return `${short(value)} ${units[k]}`;
}

/** Three digits; what is tiny with a power of ten, so that a column of numbers can be compared. */
function short(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(2).replace(/\.?0+e/, 'e') : String(Number(value.toPrecision(3)));
}
