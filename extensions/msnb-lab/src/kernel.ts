/**
 * What the kernel says about its mode and device. The question is an expression in a silent request: it does not count as
 * a cell, leaves no history, prints nothing, and does not import msnb where nobody has.
 */

import { Kernel, NotebookPanel } from '@jupyterlab/notebook';
import { isRecord, list, words } from './schema';

export interface State {
  mode: string;
  device: string;
  devices: string[];
  error: string;
}

const STATUS = "__import__('msnb.notebook.magics.status_bar', fromlist=['state'])";
const IF_LOADED = "__import__('sys').modules.get('msnb') is not None and ";

export function kernelOf(panel: NotebookPanel | null): Kernel | null {
  return panel?.sessionContext.session?.kernel ?? null;
}

export function ask(kernel: Kernel): Promise<State | null> {
  return request(kernel, 'state()');
}

export function switchMode(kernel: Kernel): Promise<State | null> {
  return request(kernel, 'next_mode()');
}

export function switchDevice(kernel: Kernel): Promise<State | null> {
  return request(kernel, 'next_device()');
}

async function request(kernel: Kernel, call: string): Promise<State | null> {
  if ((await kernel.info).language_info.name !== 'python') {
    return null;
  }
  const content = {
    code: '',
    silent: true,
    store_history: false,
    allow_stdin: false,
    stop_on_error: false,
    user_expressions: { msnb: `${IF_LOADED}${STATUS}.${call}` }
  };
  const reply = await kernel.requestExecute(content, true).done;
  const found = reply.content.user_expressions?.msnb;
  return found?.status === 'ok' ? readState(found.data?.['text/plain'] ?? '') : null;
}

function readState(text: string): State | null {
  try {
    const x: unknown = JSON.parse(text);
    if (isRecord(x) && typeof x.mode === 'string') {
      const devices = list(x.devices).map(d => words(d, 40));
      return { mode: words(x.mode, 40), device: words(x.device, 40), devices, error: words(x.error, 400) };
    }
  } catch {
    // `False`: msnb is not imported there
  }
  return null;
}
