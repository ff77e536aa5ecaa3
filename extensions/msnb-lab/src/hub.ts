/**
 * What the parts of the extension know of each other: which pictures are on the page, and who listens to them.
 *
 * The renderer works alone (in a document without a notebook, before the application has started); the plugin that knows
 * notebooks adds itself as `marker`, the side panel as `watchers`.
 */

import { Widget } from '@lumino/widgets';
import { Graph } from './graph';
import { Box, Bundle } from './schema';

export interface Shown {
  node: HTMLElement;
  bundle: Bundle;
  graphs: Graph[];
}

export interface Marker {
  /** Mark the line of a box in the notebook around `node`; `reveal` brings it into view. Null takes the mark away. */
  mark(node: HTMLElement, box: Box | null, reveal: boolean): void;
  /** Mark a line that a table names, such as `cell [3] line 4`. */
  markPlace(node: HTMLElement, place: string, reveal: boolean): void;
}

export class Hub {
  readonly shown = new Set<Shown>();
  current: Shown | null = null;
  marker: Marker | null = null;
  /** A live ipywidgets view for a bundle that has one and whose kernel knows it. */
  live: ((data: Record<string, unknown>) => Promise<Widget | null>) | null = null;
  private watchers = new Set<() => void>();

  watch(listener: () => void): () => void {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  }

  changed(): void {
    this.watchers.forEach(listener => listener());
  }

  add(shown: Shown): void {
    this.shown.add(shown);
    this.current = this.current ?? shown;
    this.changed();
  }

  drop(shown: Shown): void {
    this.shown.delete(shown);
    if (this.current === shown) {
      this.current = [...this.shown].pop() ?? null;
    }
    this.changed();
  }

  select(shown: Shown): void {
    if (this.current !== shown) {
      this.current = shown;
      this.changed();
    }
  }

  /** The pictures that stand in a notebook, in the order of the page. */
  inside(node: HTMLElement): Shown[] {
    const found = [...this.shown].filter(s => node.contains(s.node));
    return found.sort((a, b) => (a.node.compareDocumentPosition(b.node) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }
}

export const hub = new Hub();
