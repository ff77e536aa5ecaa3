/** What changed from one picture to another: boxes in program order, compared as a text is by lines. */

import { Graph } from './graph';
import { Box } from './schema';

export interface Change {
  sign: '-' | '+';
  box: Box;
  graph: Graph;
}

const MOST = 3000;

function work(graph: Graph): Box[] {
  return [...graph.found()].filter(b => b.kind !== 'group').slice(0, MOST);
}

function key(box: Box): string {
  return JSON.stringify([box.kind, box.title, box.lines.filter(l => l !== 'only here')]);
}

/** The longest common order stays; the rest is only in the first (-) or only in the second (+). */
export function changes(first: Graph, second: Graph): Change[] {
  const [a, b] = [work(first), work(second)];
  const [x, y] = [a.map(key), b.map(key)];
  const width = y.length + 1;
  const best = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      const at = i * width + j;
      best[at] = x[i] === y[j] ? best[at + width + 1] + 1 : Math.max(best[at + width], best[at + 1]);
    }
  }
  const out: Change[] = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      i++;
      j++;
    } else if (j >= y.length || (i < x.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      out.push({ sign: '-', box: a[i++], graph: first });
    } else {
      out.push({ sign: '+', box: b[j++], graph: second });
    }
  }
  return out;
}
