/**
 * Boxes and lines, linked both ways.
 *
 * A box knows `cell [3]` and a line. Cell 3 is the code cell of the same notebook whose margin says [3]; once it has run
 * again it has another number, and the old picture marks nothing rather than a wrong line. The mark is a decoration of the
 * cell's editor, so the text is not touched. The other way round, every move of the cursor marks the boxes of its line.
 */

import { RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView } from '@codemirror/view';
import { Cell, INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Marker, hub } from './hub';
import { Box, Loc } from './schema';

const CELL = /^cell \[(\d+)\]$/;
const PLACE = /^(cell \[\d+\]) line (\d+)/;

const setMark = StateEffect.define<Loc | null>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(found, transaction) {
    let out = transaction.docChanged ? Decoration.none : found;
    for (const effect of transaction.effects) {
      if (effect.is(setMark)) {
        out = effect.value ? decorate(transaction.state.doc, effect.value) : Decoration.none;
      }
    }
    return out;
  },
  provide: field => EditorView.decorations.from(field)
});

function decorate(doc: { lines: number; line(n: number): { from: number; to: number } }, loc: Loc): DecorationSet {
  const [, number, col, end] = loc;
  if (number < 1 || number > doc.lines) {
    return Decoration.none;
  }
  const line = doc.line(number);
  const builder = new RangeSetBuilder<Decoration>();
  builder.add(line.from, line.from, Decoration.line({ class: 'msnb-marked-line' }));
  const [from, to] = [line.from + col, Math.min(line.from + end, line.to)];
  if (col >= 0 && from < to) {
    builder.add(from, to, Decoration.mark({ class: 'msnb-marked-part' }));
  }
  return builder.finish();
}

export class Lines implements Marker {
  private marked = new Set<EditorView>();
  private equipped = new WeakSet<EditorView>();
  private wanted = 0;

  constructor(private tracker: INotebookTracker) {
    tracker.activeCellChanged.connect((_, cell) => this.follow(cell));
  }

  mark(node: HTMLElement, box: Box | null, reveal: boolean): void {
    this.clear();
    const loc = box?.loc ?? firstInside(box);
    if (loc) {
      void this.show(node, loc, reveal);
    }
  }

  markPlace(node: HTMLElement, place: string, reveal: boolean): void {
    this.clear();
    const found = PLACE.exec(place);
    if (found) {
      void this.show(node, [found[1], Number(found[2]), -1, -1], reveal);
    }
  }

  private clear(): void {
    this.wanted++;
    this.marked.forEach(view => view.dom.isConnected && view.dispatch({ effects: setMark.of(null) }));
    this.marked.clear();
  }

  private async show(node: HTMLElement, loc: Loc, reveal: boolean): Promise<void> {
    const wanted = this.wanted;
    const panel = this.tracker.find(p => p.node.contains(node));
    const cell = panel && cellOf(panel, loc[0]);
    if (!panel || !cell) {
      return;
    }
    if (reveal && !isInView(cell, panel)) {
      await panel.content.scrollToItem?.(panel.content.widgets.indexOf(cell), 'smart');
    }
    const view = cell.editor?.editor;
    if (view && wanted === this.wanted) {
      this.equip(view);
      view.dispatch({ effects: setMark.of(loc) });
      this.marked.add(view);
    }
  }

  /** Give an editor the marks, and tell the pictures where its cursor is. */
  private equip(view: EditorView): void {
    if (!this.equipped.has(view)) {
      this.equipped.add(view);
      const listen = EditorView.updateListener.of(u => {
        if ((u.selectionSet || u.focusChanged) && u.view.hasFocus) {
          this.cursor(u.view);
        }
      });
      view.dispatch({ effects: StateEffect.appendConfig.of([marks, listen]) });
    }
  }

  private follow(cell: Cell | null): void {
    const view = cell?.editor?.editor;
    if (view) {
      this.equip(view);
      this.cursor(view);
    }
  }

  private cursor(view: EditorView): void {
    const panel = this.tracker.find(p => p.node.contains(view.dom));
    const cell = panel?.content.widgets.find(c => c.editor?.editor === view);
    const line = view.state.doc.lineAt(view.state.selection.main.head).number;
    const file = `cell [${cell?.model.executionCount ?? ''}]`;
    if (panel) {
      hub.inside(panel.node).forEach(shown => (shown as unknown as Linked).markLine(file, line));
    }
  }
}

interface Linked {
  markLine(file: string, line: number): number;
}

function cellOf(panel: NotebookPanel, file: string): Cell | undefined {
  const number = Number(CELL.exec(file)?.[1] ?? NaN);
  return panel.content.widgets.find(c => c.model.type === 'code' && c.model.executionCount === number);
}

function isInView(cell: Cell, panel: NotebookPanel): boolean {
  const [a, b] = [cell.node.getBoundingClientRect(), panel.content.node.getBoundingClientRect()];
  return cell.editor !== null && a.top < b.bottom - 20 && a.bottom > b.top + 20 && a.top >= b.top - 4;
}

/** A group stands for the first line inside it. */
function firstInside(box: Box | null): Loc | null {
  for (const inner of box?.inside?.boxes ?? []) {
    const found = inner.loc ?? firstInside(inner);
    if (found) {
      return found;
    }
  }
  return null;
}
