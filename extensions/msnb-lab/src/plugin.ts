/** The extension: what JupyterLab and Notebook 7 load. Every service but the commands is optional. */

import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import { Widget } from '@lumino/widgets';
import { BundleView } from './bundle';
import { hub } from './hub';
import { kernelOf, switchDevice, switchMode } from './kernel';
import { Lines } from './lines';
import { Panel } from './panel';
import { isRecord } from './schema';
import { Status } from './status';

interface App {
  commands: { addCommand(id: string, how: { label: string; caption?: string; execute: () => unknown }): unknown };
  shell: { add(widget: Widget, area: string, options?: object): void; activateById(id: string): void };
}

const WIDGET = 'application/vnd.jupyter.widget-view+json';

function activate(
  app: App,
  tracker: INotebookTracker | null,
  statusbar: IStatusBar | null,
  palette: ICommandPalette | null
): void {
  const panel = new Panel(() => tracker?.currentWidget?.node ?? null);
  app.shell.add(panel, 'right', { rank: 900 });
  const status = tracker ? new Status(tracker) : null;
  if (tracker) {
    hub.marker = new Lines(tracker);
    hub.live = data => liveWidget(tracker, data);
    tracker.currentChanged.connect(() => panel.isVisible && panel.refresh());
  }
  if (status && statusbar) {
    statusbar.registerStatusItem('msnb-lab:mode', { item: status.mode, align: 'left', rank: 20 });
    statusbar.registerStatusItem('msnb-lab:device', { item: status.device, align: 'left', rank: 21 });
  }
  for (const [name, label, execute] of commands(app, panel, status)) {
    app.commands.addCommand(`msnb:${name}`, { label, execute });
    palette?.addItem({ command: `msnb:${name}`, category: 'msnb' });
  }
}

type Command = [string, string, () => unknown];

function commands(app: App, panel: Panel, status: Status | null): Command[] {
  const view = () => hub.current as unknown as BundleView | null;
  const open = () => {
    app.shell.activateById(panel.id);
    panel.refresh();
  };
  const move = (by: number) => () => view()?.moves?.slider.move(view()!.moves!.slider.position + by);
  return [
    ['switch-mode', 'Switch between PyNative and Graph mode', () => status?.switch(switchMode)],
    ['switch-device', 'Switch to the next device', () => status?.switch(switchDevice)],
    ['open-panel', 'Show the panel of pictures', open],
    ['search', 'Search in the picture', () => (open(), panel.search.focus())],
    ['open-groups', 'Open all groups of the picture', () => view()?.graphs.forEach(g => g.setAll(true))],
    ['reset-groups', 'Groups of the picture as they were saved', () => view()?.graphs.forEach(g => g.setAll(null))],
    ['next-overlay', 'Paint the next numbers over the picture', () => panel.nextOverlay()],
    ['next-stage', 'On to the next stage or rewrite', move(1)],
    ['previous-stage', 'Back to the stage or rewrite before', move(-1)],
    ['compare', 'Compare the picture with another', () => (open(), panel.compare())]
  ];
}

/** The widget of a bundle, if a kernel of an open notebook still has its model. */
async function liveWidget(tracker: INotebookTracker, data: Record<string, unknown>): Promise<Widget | null> {
  const view = data[WIDGET];
  const id = isRecord(view) && typeof view.model_id === 'string' ? view.model_id : '';
  const panels: NotebookPanel[] = [];
  tracker.forEach(p => panels.push(p));
  for (const panel of panels) {
    const kernel = kernelOf(panel);
    if (id && kernel && panel.content.rendermime.mimeTypes.includes(WIDGET)) {
      const reply = await kernel.requestCommInfo({ target_name: 'jupyter.widget' });
      if (reply.content.comms && id in reply.content.comms) {
        return panel.content.rendermime.createRenderer(WIDGET);
      }
    }
  }
  return null;
}

/** Where a service does not exist at all (no status bar in Notebook 7), a token that nobody provides keeps its place. */
const NONE = { name: 'msnb-lab:none' };

export const plugin = {
  id: 'msnb-lab:plugin',
  description: 'Pictures of msnb programs linked to the lines of the cells; mode and device in the status bar.',
  autoStart: true,
  optional: [INotebookTracker ?? NONE, IStatusBar ?? NONE, ICommandPalette ?? NONE],
  activate
};
