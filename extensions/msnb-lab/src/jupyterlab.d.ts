/**
 * The part of JupyterLab's interface that this extension uses, JupyterLab 4 and Notebook 7. The packages themselves come
 * from the running application; declaring these few lines instead of installing 370 MB of them keeps a build at seconds.
 * The browser tests hold them against the real thing.
 */

interface Signal<S, A> {
  connect(slot: (sender: S, args: A) => void): boolean;
}

interface Token<T> {
  readonly name: string;
  readonly type?: T;
}

declare module '@jupyterlab/notebook' {
  import { Widget } from '@lumino/widgets';
  import { EditorView } from '@codemirror/view';

  interface Reply {
    content: { status: string; user_expressions?: Record<string, { status: string; data?: Record<string, string> }> };
  }
  interface Kernel {
    id: string;
    status: string;
    info: Promise<{ language_info: { name: string } }>;
    requestExecute(content: object, disposeOnDone?: boolean): { done: Promise<Reply> };
    requestCommInfo(content: object): Promise<{ content: { status: string; comms?: Record<string, unknown> } }>;
  }
  interface SessionContext {
    session: { kernel: Kernel | null } | null;
    kernelChanged: Signal<unknown, unknown>;
    statusChanged: Signal<unknown, string>;
  }
  interface Cell extends Widget {
    model: { type: string; executionCount?: number | null };
    editor: { editor: EditorView; focus(): void } | null;
  }
  interface Renderer extends Widget {
    renderModel(model: unknown): Promise<void>;
  }
  interface Notebook extends Widget {
    widgets: readonly Cell[];
    activeCell: Cell | null;
    rendermime: { mimeTypes: readonly string[]; createRenderer(mime: string): Renderer };
    scrollToItem?(index: number, align?: string): Promise<void>;
  }
  interface NotebookPanel extends Widget {
    content: Notebook;
    sessionContext: SessionContext;
  }
  interface INotebookTracker {
    currentWidget: NotebookPanel | null;
    currentChanged: Signal<unknown, NotebookPanel | null>;
    widgetAdded: Signal<unknown, NotebookPanel>;
    activeCellChanged: Signal<unknown, Cell | null>;
    find(fits: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
    forEach(act: (panel: NotebookPanel) => void): void;
  }
  const INotebookTracker: Token<INotebookTracker>;
  const NotebookActions: { executed: Signal<unknown, { notebook: Notebook }> };
}

declare module '@jupyterlab/statusbar' {
  import { Widget } from '@lumino/widgets';
  interface IStatusBar {
    registerStatusItem(id: string, item: { item: Widget; align?: string; rank?: number; isActive?: () => boolean }): unknown;
  }
  const IStatusBar: Token<IStatusBar>;
}

declare module '@jupyterlab/apputils' {
  interface ICommandPalette {
    addItem(item: { command: string; category: string }): unknown;
  }
  const ICommandPalette: Token<ICommandPalette>;
  const Notification: { warning(message: string, options?: object): string };
}
