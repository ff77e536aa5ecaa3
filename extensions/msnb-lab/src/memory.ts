/** Memory over program order, drawn from the saved buffers: hovering a buffer says what it is. */

import { el, svg } from './dom';
import { amount } from './look';
import { Bundle, list, words } from './schema';

const [LEFT, RIGHT, HEAD, TALL, WIDE] = [60, 16, 34, 260, 720];
const MOST = 5000;

interface Buffer {
  label: string;
  size: number;
  start: number;
  end: number;
  low: number;
}

export function memoryChart(bundle: Bundle, host: HTMLElement): HTMLElement | null {
  const buffers = list(bundle.data.buffers).slice(0, MOST).map(readBuffer).filter((b): b is Buffer => b !== null);
  const live = list(bundle.data.live).filter((x): x is number => typeof x === 'number');
  if (bundle.kind !== 'memory' || !buffers.length || !live.length) {
    return null;
  }
  const told = el('div', { class: 'msnb-told', 'aria-live': 'polite' });
  const root = svg('svg', {
    class: 'msnb-svg msnb-chart',
    viewBox: `0 0 ${WIDE} ${HEAD + TALL + 36}`,
    width: WIDE,
    role: 'img',
    'aria-label': `memory of ${bundle.picture.title}`
  });
  root.style.setProperty('--msnb-w', String(WIDE));
  const across = (WIDE - LEFT - RIGHT) / live.length;
  const up = TALL / Math.max(1, ...buffers.map(b => b.low + b.size));
  const top = live.reduce((a, b) => Math.max(a, b), 0);
  const peak = live.indexOf(top);
  for (const b of buffers) {
    const held = b.start <= peak && peak <= b.end;
    const span = bar(b, across, up, held);
    span.addEventListener('pointerenter', () => (told.textContent = describe(b, held)));
    root.append(span);
  }
  const x = LEFT + (peak + 0.5) * across;
  const end = x < WIDE / 2;
  root.append(
    svg('path', { class: 'msnb-axis', d: `M${LEFT} ${HEAD}V${HEAD + TALL}H${WIDE - RIGHT}` }),
    svg('path', { class: 'msnb-peak', d: `M${x} ${HEAD - 6}V${HEAD + TALL}` }),
    svg('text', { class: 'msnb-peak-word', x: end ? x + 6 : x - 6, y: HEAD - 8, 'text-anchor': end ? 'start' : 'end' },
      `peak ${amount(top, 'B')}`),
    svg('text', { class: 'msnb-axis-word', x: LEFT - 8, y: HEAD + 10, 'text-anchor': 'end' }, 'address'),
    svg('text', { class: 'msnb-axis-word', x: WIDE / 2, y: HEAD + TALL + 22, 'text-anchor': 'middle' },
      'node in program order')
  );
  const name = el('div', { class: 'msnb-bar' }, el('span', { class: 'msnb-name' }, `memory of ${bundle.picture.title}`));
  host.classList.add('msnb-memory');
  return el('div', { class: 'msnb-graph' }, name, el('div', { class: 'msnb-canvas' }, root), told);
}

function readBuffer(x: unknown): Buffer | null {
  const [label, ...numbers] = list(x);
  if (!numbers.slice(0, 4).every(n => typeof n === 'number' && Number.isFinite(n) && n >= 0) || numbers.length < 4) {
    return null;
  }
  const [size, start, end, low] = numbers as number[];
  return size ? { label: words(label), size, start, end, low } : null;
}

function describe(b: Buffer, held: boolean): string {
  return `${b.label}, ${amount(b.size, 'B')}, from node ${b.start} to node ${b.end}${held ? ', held at the peak' : ''}`;
}

function bar(b: Buffer, across: number, up: number, held: boolean): SVGGElement {
  const [x, w] = [LEFT + b.start * across, Math.max((b.end - b.start + 1) * across, 0.6)];
  const h = Math.max(b.size * up, 0.6);
  const y = HEAD + TALL - b.low * up - h;
  const most = Math.floor(w / 6.2);
  const label = [...b.label];
  const shown = label.length > most ? label.slice(0, Math.max(most - 1, 0)).join('') + '…' : b.label;
  return svg(
    'g',
    { class: `msnb-buffer ${held ? 'msnb-held' : ''}` },
    svg('rect', { class: 'msnb-outline', x, y, width: w, height: h, rx: h > 6 ? 2 : 0 }),
    h > 13 && w > 30 ? svg('text', { class: 'msnb-line-text', x: x + w / 2, y: y + h / 2 + 3.5 }, shown) : null
  );
}
