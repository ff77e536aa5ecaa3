/** Mode and device of the notebook in front, in the status bar; a click (or Enter) switches. */

import { Notification } from '@jupyterlab/apputils';
import { INotebookTracker, Kernel, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import { State, ask, kernelOf, switchDevice, switchMode } from './kernel';

const MODES: Record<string, string> = { graph: 'Graph', eager: 'PyNative' };
const SOON = 120;

class Item extends Widget {
  constructor(name: string, act: () => void) {
    super({ node: document.createElement('button') });
    this.addClass('msnb-status');
    this.node.setAttribute('type', 'button');
    this.node.dataset.item = name;
    this.node.addEventListener('click', act);
  }

  say(text: string, title: string): void {
    this.node.textContent = text;
    this.node.title = title;
    this.node.setAttribute('aria-label', title);
  }
}

export class Status {
  state: State | null = null;
  readonly mode = new Item('mode', () => void this.switch(switchMode));
  readonly device = new Item('device', () => void this.switch(switchDevice));
  private timer = 0;
  private asked = 0;

  constructor(private tracker: INotebookTracker) {
    tracker.currentChanged.connect(() => this.soon());
    tracker.forEach(panel => this.follow(panel));
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    NotebookActions.executed.connect((_, { notebook }) => {
      if (notebook === tracker.currentWidget?.content) {
        this.soon();
      }
    });
    this.show(null);
  }

  private follow(panel: NotebookPanel): void {
    let last = '';
    panel.sessionContext.kernelChanged.connect(() => this.soon());
    panel.sessionContext.statusChanged.connect((_, status) => {
      if (/start/.test(last) && status === 'idle') {
        this.soon();
      }
      last = status === 'busy' ? last : status;
    });
    this.soon();
  }

  private soon(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.refresh(ask), SOON);
  }

  async switch(act: (kernel: Kernel) => Promise<State | null>): Promise<void> {
    await this.refresh(act);
    if (this.state?.error) {
      Notification.warning(this.state.error, { autoClose: 6000 });
    }
  }

  private async refresh(act: (kernel: Kernel) => Promise<State | null>): Promise<void> {
    const kernel = kernelOf(this.tracker.currentWidget);
    const asked = ++this.asked;
    let found: State | null = null;
    try {
      found = kernel && !/dead|terminating|unknown|starting/.test(kernel.status) ? await act(kernel) : null;
    } catch {
      found = null; // the kernel went away while it was asked
    }
    if (asked === this.asked) {
      this.show(found);
    }
  }

  private show(state: State | null): void {
    this.state = state;
    this.mode.setHidden(!state);
    this.device.setHidden(!state);
    if (state) {
      const mode = MODES[state.mode] ?? state.mode;
      const other = state.mode === 'graph' ? 'PyNative' : 'Graph';
      this.mode.say(`msnb: ${mode}`, `msnb runs in ${mode} mode. Click for ${other} mode.`);
      this.device.say(state.device, `msnb runs on ${state.device}. Click for the next of ${state.devices.join(', ')}.`);
    }
  }
}
