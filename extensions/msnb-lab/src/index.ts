/** What the container in build.mjs hands to JupyterLab; the style sheet is put into the page once. */

import style from './style.css';

export { mimeExtension } from './renderer';
export { plugin } from './plugin';

const sheet = document.createElement('style');
sheet.dataset.from = 'msnb-lab';
sheet.textContent = style;
document.head.append(sheet);
