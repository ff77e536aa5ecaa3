/** Elements, made one by one: no markup is ever parsed, so no name in a program can become an element or a script. */

const SVG = 'http://www.w3.org/2000/svg';

export type Attrs = Record<string, string | number | boolean | null | undefined>;
export type Child = Node | string | null | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attrs: Attrs = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attrs, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attrs: Attrs = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attrs, children);
}

function fill<E extends Element>(element: E, attrs: Attrs, children: Child[]): E {
  for (const [name, value] of Object.entries(attrs)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined));
  return element;
}

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  const found = el('button', { type: 'button', class: 'msnb-button', title, 'aria-label': title }, label);
  found.addEventListener('click', act);
  return found;
}

/** What has the focus inside `node` gets its keys: JupyterLab's shortcuts (arrows, Enter) leave it alone. */
export function keepKeys(node: HTMLElement): void {
  node.addEventListener('focusin', e => (e.target as Element).setAttribute('data-lm-suppress-shortcuts', 'true'));
}

/** An SVG as an image: what is in it can neither run nor load anything. */
export function image(source: string, alt: string): HTMLImageElement {
  const bytes = new TextEncoder().encode(source);
  let text = '';
  bytes.forEach(b => (text += String.fromCharCode(b)));
  return el('img', { class: 'msnb-image', alt, src: `data:image/svg+xml;base64,${btoa(text)}` });
}

/** The pictures of a stored page that lie open, as they stand: base64 holds no markup, and an image runs nothing. */
export function figuresIn(page: string, alt: string): HTMLImageElement[] {
  const open = page.split('<details', 1)[0];
  const found = open.matchAll(/\ssrc="(data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+)"/g);
  return [...found].map(([, src]) => el('img', { class: 'msnb-image', alt, src }));
}

export function details(summary: string, ...children: Child[]): HTMLDetailsElement {
  return el('details', { class: 'msnb-details' }, el('summary', {}, summary), ...children);
}
