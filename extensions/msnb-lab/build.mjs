/**
 * Builds the extension: `node build.mjs FOLDER`. One file, no bundler of JupyterLab's own.
 *
 *   src/*.ts  --esbuild-->  one CommonJS body  --wrapped-->  static/remoteEntry.<hash>.js
 *
 * JupyterLab loads an extension as a federated module: a script that puts a container `{init, get}` into
 * `window._JUPYTERLAB`. `init` receives the table of modules the application shares, `get` gives our plugins. The body asks
 * for its shared modules (CodeMirror, Lumino, JupyterLab's tokens) by `require`; they are fetched from the table before the
 * body runs, so nothing of them is bundled. The same sources give the same bytes; CI builds again and compares.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const SHARED = [
  '@codemirror/state',
  '@codemirror/view',
  '@jupyterlab/apputils',
  '@jupyterlab/notebook',
  '@jupyterlab/statusbar',
  '@lumino/widgets'
];

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'labextension');

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: ['src/index.ts'],
  bundle: true,
  write: false,
  format: 'cjs',
  target: 'es2020',
  minify: true,
  legalComments: 'none',
  loader: { '.css': 'text' },
  external: SHARED
});

const container = `(() => {
const shared = ${JSON.stringify(SHARED)};
const body = (require, module, exports) => {
${outputFiles[0].text}};
const order = version => version.split(/[.-]/).slice(0, 3).map(Number);
const newest = versions => Object.keys(versions).sort((a, b) => {
  const [x, y] = [order(a), order(b)];
  return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
}).pop();
let table = {}, loaded = null;
const load = async () => {
  const found = {};
  await Promise.all(shared.map(async name => {
    const versions = table[name];
    found[name] = versions ? (await versions[newest(versions)].get())() : {};
  }));
  const module = { exports: {} };
  body(name => found[name], module, module.exports);
  return module.exports;
};
(window._JUPYTERLAB ??= {})['msnb-lab'] = {
  init: scope => { table = scope; },
  get: async name => {
    const found = await (loaded ??= load());
    const given = { './extension': found.plugin, './mimeExtension': found.mimeExtension };
    if (!(name in given)) throw new Error('msnb-lab has no module ' + name);
    return () => ({ __esModule: true, default: given[name] });
  }
};
})();
`;

const name = `remoteEntry.${createHash('sha256').update(container).digest('hex').slice(0, 16)}.js`;
const told = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const { name: packageName, version, description, license, jupyterlab } = told;
const load = { load: `static/${name}`, extension: './extension', mimeExtension: './mimeExtension' };
const described = { name: packageName, version, description, license, jupyterlab: { ...jupyterlab, _build: load } };
const installed = {
  packageManager: 'python',
  packageName: 'msnb',
  uninstallInstructions: 'pip uninstall msnb'
};

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'static'), { recursive: true });
writeFileSync(join(out, 'static', name), container);
writeFileSync(join(out, 'package.json'), JSON.stringify(described, null, 2) + '\n');
writeFileSync(join(out, 'install.json'), JSON.stringify(installed, null, 2) + '\n');
console.log(`${join(out, 'static', name)}: ${container.length} bytes`);
