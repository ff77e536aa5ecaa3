/**
 * The renderer of the bundle. It is `safe`: it makes elements from data and never parses markup, so JupyterLab uses it in
 * notebooks that are not trusted too. Where a bundle also carries a live widget that the kernel still knows, the widget is
 * shown; else the saved picture, which reacts by itself.
 */

import { Message } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';
import { BundleView } from './bundle';
import { el } from './dom';
import { hub } from './hub';
import { MIME } from './schema';

const WIDGET = 'application/vnd.jupyter.widget-view+json';
const BEFORE_WIDGETS = -20;

interface Model {
  data: Record<string, unknown>;
  trusted: boolean;
}

export class Output extends Panel {
  private view: BundleView | null = null;

  constructor() {
    super();
    this.addClass('msnb-output');
  }

  async renderModel(model: Model): Promise<void> {
    this.forget();
    const data = model.data;
    const live = model.trusted && WIDGET in data ? await liveWidget(data) : null;
    if (live) {
      this.addWidget(live);
      return live.renderModel(model);
    }
    try {
      const text = (mime: string) => asText(data[mime]);
      const others = { html: text('text/html'), svg: text('image/svg+xml'), text: text('text/plain') };
      this.view = new BundleView(data[MIME], others);
      this.node.replaceChildren(this.view.node);
      if (this.isAttached) {
        hub.add(this.view);
      }
    } catch (error) {
      this.node.replaceChildren(el('pre', { class: 'msnb-error' }, (error as Error).message), asText(data['text/plain']));
    }
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.view) {
      hub.add(this.view);
    }
  }

  protected onBeforeDetach(message: Message): void {
    this.forget(false);
    super.onBeforeDetach(message);
  }

  dispose(): void {
    this.forget();
    super.dispose();
  }

  private forget(view = true): void {
    if (this.view) {
      hub.drop(this.view);
      this.view = view ? null : this.view;
    }
  }
}

interface Live extends Widget {
  renderModel(model: Model): Promise<void>;
}

async function liveWidget(data: Record<string, unknown>): Promise<Live | null> {
  return ((await hub.live?.(data)) as Live | null | undefined) ?? null;
}

function asText(x: unknown): string {
  return Array.isArray(x) ? x.join('') : typeof x === 'string' ? x : '';
}

export const mimeExtension = {
  id: 'msnb-lab:renderer',
  description: 'Pictures of msnb programs.',
  rendererFactory: { safe: true, mimeTypes: [MIME], createRenderer: () => new Output() },
  rank: BEFORE_WIDGETS,
  dataType: 'json'
};
