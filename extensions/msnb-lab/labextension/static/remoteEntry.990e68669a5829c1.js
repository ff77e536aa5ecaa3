(() => {
const shared = ["@codemirror/state","@codemirror/view","@jupyterlab/apputils","@jupyterlab/notebook","@jupyterlab/statusbar","@lumino/widgets"];
const body = (require, module, exports) => {
"use strict";var me=Object.defineProperty;var Ct=Object.getOwnPropertyDescriptor;var At=Object.getOwnPropertyNames;var Nt=Object.prototype.hasOwnProperty;var Gt=(s,e)=>{for(var t in e)me(s,t,{get:e[t],enumerable:!0})},It=(s,e,t,n)=>{if(e&&typeof e=="object"||typeof e=="function")for(let r of At(e))!Nt.call(s,r)&&r!==t&&me(s,r,{get:()=>e[r],enumerable:!(n=Ct(e,r))||n.enumerable});return s};var Rt=s=>It(me({},"__esModule",{value:!0}),s);var Vn={};Gt(Vn,{mimeExtension:()=>ft,plugin:()=>$t});module.exports=Rt(Vn);var Pe=`/* The colours of msnb/notebook/colours.py, for light pages, dark pages and paper; all else is JupyterLab's own. */

.msnb-view,
.msnb-panel {
  --ink: #1f2733;
  --soft: #56606f;
  --edge: #8a94a3;
  --card: #fcfcfd;
  --line: #d5dbe4;
  --frame: #c3ccd8;
  --shade: rgb(31 39 51 / 22%);
  --tint0: #fff;
  --tint1: #f3f6fa;
  --kept: #8658c6;
  --alarm: #c2372b;
  --accent: var(--jp-brand-color1, #1976d2);
  --blue: #e2edfc; --blue-line: #5f8fd0;
  --amber: #fdeecb; --amber-line: #cb952b;
  --red: #fde3df; --red-line: #cf6f64;
  --violet: #ece4fb; --violet-line: #8f70c4;
  --pink: #f6e6f1; --pink-line: #a0528f;
  --teal: #d8f1ef; --teal-line: #3f9a98;
  --green: #e4f3d8; --green-line: #7ea653;
  --grey: #edf0f4; --grey-line: #98a3b1;
  --control: #f5f6f9; --control-line: #8492a5;
  --input: #fff; --input-line: #6d7887;
  --state: #fff7e0; --state-line: #c08f1f;
  --result: #2f3b4c; --result-ink: #fff; --result-soft: #d6dde6;
  --heat0: #fff6e5; --heat1: #fde3b0; --heat2: #fbc97a; --heat3: #f5b064; --heat4: #ee9a4d; --heat-line: #a8641c;
  --heat-ink: #1f2733;
  color: var(--ink);
}

@media screen {
  body[data-jp-theme-light='false'] :is(.msnb-view, .msnb-panel) {
    --ink: #e6eaf0;
    --soft: #a5b0be;
    --edge: #76839a;
    --card: #171b21;
    --line: #333b47;
    --frame: #414c5b;
    --shade: rgb(0 0 0 / 70%);
    --tint0: #1c2128;
    --tint1: #222933;
    --kept: #b493ea;
    --alarm: #ff8377;
    --blue: #1e3553; --blue-line: #6a9cdf;
    --amber: #463614; --amber-line: #d3a13d;
    --red: #4c2723; --red-line: #e08277;
    --violet: #362a54; --violet-line: #a78add;
    --pink: #45263d; --pink-line: #cc82bb;
    --teal: #153f3f; --teal-line: #55b3b0;
    --green: #2b3f1c; --green-line: #8fba62;
    --grey: #2a313b; --grey-line: #8390a1;
    --control: #242b35; --control-line: #8291a6;
    --input: #12161b; --input-line: #93a0b1;
    --state: #3a2f0f; --state-line: #d0a038;
    --result: #d9e0ea; --result-ink: #171b21; --result-soft: #3b4654;
    --heat0: #33270f; --heat1: #573c12; --heat2: #7d5216; --heat3: #965a16; --heat4: #b0681a; --heat-line: #f0b46a;
    --heat-ink: #fff;
  }
}

.msnb-view {
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif);
  margin: 4px 0;
}
.msnb-view .msnb-graph {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 10px;
  overflow: hidden;
  margin-bottom: 8px;
}
.msnb-view .msnb-bar {
  display: flex;
  align-items: center;
  gap: 6px;
  padding: 6px 8px 2px 14px;
}
.msnb-view .msnb-name {
  flex: 1;
  font-weight: 600;
  color: var(--soft);
  white-space: pre;
  overflow: hidden;
  text-overflow: ellipsis;
}
.msnb-view :is(.msnb-button, .msnb-select),
.msnb-panel :is(.msnb-button, .msnb-select, .msnb-search) {
  font: 12px/1.4 var(--jp-ui-font-family, system-ui, sans-serif);
  color: var(--soft);
  background: transparent;
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 1px 8px;
  min-height: 22px;
  cursor: pointer;
}
.msnb-view .msnb-select option,
.msnb-panel .msnb-select option {
  color: #1f2733;
  background: #fff;
}
.msnb-view :is(.msnb-button, .msnb-select):hover {
  color: var(--ink);
  border-color: var(--edge);
}
.msnb-view :is(.msnb-button, .msnb-select, .msnb-place, input, summary):focus-visible,
.msnb-panel :is(.msnb-button, .msnb-select, .msnb-search, .msnb-result, input):focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 1px;
}

/* ---- the picture */

.msnb-view .msnb-canvas {
  overflow: auto;
  max-height: 78vh;
  padding: 2px 6px 4px;
  /* A shadow at every edge beyond which the picture goes on: covers travel with the picture, shadows stay. */
  background:
    linear-gradient(var(--card) 12px, transparent) top / 100% 28px local,
    linear-gradient(0deg, var(--card) 12px, transparent) bottom / 100% 28px local,
    linear-gradient(90deg, var(--card) 12px, transparent) left / 28px 100% local,
    linear-gradient(270deg, var(--card) 12px, transparent) right / 28px 100% local,
    linear-gradient(var(--shade), transparent) top / 100% 10px scroll,
    linear-gradient(transparent, var(--shade)) bottom / 100% 10px scroll,
    linear-gradient(90deg, var(--shade), transparent) left / 10px 100% scroll,
    linear-gradient(270deg, var(--shade), transparent) right / 10px 100% scroll;
  background-repeat: no-repeat;
}
.msnb-view .msnb-svg {
  display: block;
  margin: 0 auto;
  height: auto;
  max-width: 100%;
  min-width: min(calc(var(--msnb-w) * 0.62px), calc(var(--msnb-w) * 1px));
}
.msnb-view .msnb-svg.msnb-zoomed {
  max-width: none;
  min-width: 0;
  width: calc(var(--msnb-w) * 1px * var(--msnb-zoom));
}
.msnb-view .msnb-svg text {
  font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  fill: var(--ink);
  direction: ltr;
  unicode-bidi: isolate;
  pointer-events: none;
  user-select: none;
}
.msnb-view .msnb-title { font-size: 13px; font-weight: 600; text-anchor: middle; }
.msnb-view .msnb-svg .msnb-line-text {
  font: 10.5px var(--jp-code-font-family, ui-monospace, monospace);
  text-anchor: middle;
  fill: var(--soft);
}
.msnb-view .msnb-svg .msnb-tag { font-size: 11px; font-weight: 600; fill: var(--soft); }
.msnb-view .msnb-svg .msnb-column-title { font-size: 12px; font-weight: 600; }
.msnb-view .msnb-svg .msnb-badge {
  font-size: 10px;
  font-weight: 600;
  text-anchor: end;
  fill: var(--ink);
  stroke: var(--card);
  stroke-width: 4px;
  paint-order: stroke;
  stroke-linejoin: round;
}
.msnb-view .msnb-column { fill: var(--tint0); stroke: var(--line); }
.msnb-view .msnb-frame { stroke: var(--frame); }
.msnb-view .msnb-depth-0 { fill: var(--tint0); }
.msnb-view .msnb-depth-1 { fill: var(--tint1); }
.msnb-view .msnb-edge path { fill: none; stroke: var(--edge); stroke-width: 1.3; }
.msnb-view .msnb-edge .msnb-head { fill: var(--edge); stroke: none; }
.msnb-view .msnb-kept path { stroke: var(--kept); stroke-width: 1.2; stroke-dasharray: 5 3; opacity: 0.75; }
.msnb-view .msnb-kept .msnb-head { fill: var(--kept); }
.msnb-view .msnb-edge:is(.msnb-near, .msnb-hovered) path { stroke: var(--accent); stroke-width: 2.2; opacity: 1; }
.msnb-view .msnb-edge:is(.msnb-near, .msnb-hovered) .msnb-head { fill: var(--accent); stroke: none; }

.msnb-view .msnb-node { cursor: pointer; outline: none; }
.msnb-view .msnb-node > .msnb-outline { fill: var(--grey); stroke: var(--grey-line); stroke-width: 1.2; }
.msnb-view .msnb-frame-title > .msnb-outline { fill: transparent; stroke: none; }
.msnb-view .msnb-frame-title:is(:hover, :focus-visible) > .msnb-outline { fill: var(--grey); }
.msnb-view .msnb-look-blue > .msnb-outline { fill: var(--blue); stroke: var(--blue-line); }
.msnb-view .msnb-look-amber > .msnb-outline { fill: var(--amber); stroke: var(--amber-line); }
.msnb-view .msnb-look-red > .msnb-outline { fill: var(--red); stroke: var(--red-line); }
.msnb-view .msnb-look-violet > .msnb-outline { fill: var(--violet); stroke: var(--violet-line); }
.msnb-view .msnb-look-pink > .msnb-outline { fill: var(--pink); stroke: var(--pink-line); }
.msnb-view .msnb-look-teal > .msnb-outline { fill: var(--teal); stroke: var(--teal-line); }
.msnb-view .msnb-look-green > .msnb-outline { fill: var(--green); stroke: var(--green-line); }
.msnb-view .msnb-look-control > .msnb-outline { fill: var(--control); stroke: var(--control-line); }
.msnb-view .msnb-look-param > .msnb-outline { fill: var(--input); stroke: var(--input-line); }
.msnb-view .msnb-look-again > .msnb-outline { fill: var(--input); stroke: var(--input-line); stroke-dasharray: 4 3; }
.msnb-view .msnb-look-state > .msnb-outline { fill: var(--state); stroke: var(--state-line); stroke-dasharray: 4 3; }
.msnb-view .msnb-look-group > .msnb-outline { fill: var(--tint0); stroke: var(--control-line); }
.msnb-view .msnb-look-group > .msnb-under { fill: var(--grey); }
.msnb-view .msnb-look-result > .msnb-outline { fill: var(--result); stroke: var(--result); }
.msnb-view .msnb-look-result > .msnb-title { fill: var(--result-ink); }
.msnb-view .msnb-svg .msnb-look-result > .msnb-line-text { fill: var(--result-soft); }
.msnb-view .msnb-new > .msnb-outline { stroke: var(--ink); stroke-width: 2.6; }
.msnb-view .msnb-alarm > .msnb-outline { stroke: var(--alarm); stroke-width: 2.6; }
.msnb-view .msnb-hot > .msnb-outline { stroke: var(--heat-line); }
.msnb-view .msnb-hot > :is(.msnb-title, .msnb-line-text) { fill: var(--heat-ink); }
.msnb-view .msnb-heat-0 > .msnb-outline { fill: var(--heat0); }
.msnb-view .msnb-heat-1 > .msnb-outline { fill: var(--heat1); }
.msnb-view .msnb-heat-2 > .msnb-outline { fill: var(--heat2); }
.msnb-view .msnb-heat-3 > .msnb-outline { fill: var(--heat3); }
.msnb-view .msnb-heat-4 > .msnb-outline { fill: var(--heat4); }
.msnb-view .msnb-hot.msnb-alarm > .msnb-outline { stroke: var(--alarm); }
.msnb-view .msnb-node:hover > .msnb-outline { filter: brightness(0.97); stroke-width: 2; }
.msnb-view .msnb-node:is(.msnb-marked, .msnb-chosen, :focus-visible) > .msnb-outline {
  stroke: var(--accent);
  stroke-width: 2.8;
  stroke-dasharray: none;
}
.msnb-view .msnb-node.msnb-marked > .msnb-outline { filter: drop-shadow(0 0 3px var(--accent)); }

.msnb-view .msnb-told {
  min-height: 1.45em;
  padding: 1px 14px;
  color: var(--soft);
  font-size: 12px;
  white-space: nowrap;
  overflow: hidden;
  text-overflow: ellipsis;
  unicode-bidi: isolate;
}
.msnb-view .msnb-legend { display: flex; flex-wrap: wrap; gap: 3px 14px; padding: 2px 14px 9px; }
.msnb-view .msnb-entry { display: inline-flex; align-items: center; gap: 6px; color: var(--soft); font-size: 11.5px; }
.msnb-view .msnb-swatch {
  width: 13px;
  height: 11px;
  box-sizing: border-box;
  border: 1px solid var(--grey-line);
  background: var(--grey);
  border-radius: 3px;
}
.msnb-view .msnb-swatch.msnb-look-blue { background: var(--blue); border-color: var(--blue-line); }
.msnb-view .msnb-swatch.msnb-look-amber { background: var(--amber); border-color: var(--amber-line); }
.msnb-view .msnb-swatch.msnb-look-red { background: var(--red); border-color: var(--red-line); }
.msnb-view .msnb-swatch.msnb-look-violet { background: var(--violet); border-color: var(--violet-line); }
.msnb-view .msnb-swatch.msnb-look-pink { background: var(--pink); border-color: var(--pink-line); }
.msnb-view .msnb-swatch.msnb-look-teal { background: var(--teal); border-color: var(--teal-line); }
.msnb-view .msnb-swatch.msnb-look-green { background: var(--green); border-color: var(--green-line); }
.msnb-view .msnb-swatch.msnb-look-control { background: var(--control); border-color: var(--control-line); }
.msnb-view .msnb-swatch:is(.msnb-look-param, .msnb-look-again) {
  background: var(--input);
  border-color: var(--input-line);
  border-radius: 6px;
}
.msnb-view .msnb-swatch:is(.msnb-look-again, .msnb-look-state) { border-style: dashed; }
.msnb-view .msnb-swatch.msnb-look-state { background: var(--state); border-color: var(--state-line); border-radius: 6px; }
.msnb-view .msnb-swatch.msnb-look-result { background: var(--result); border-color: var(--result); border-radius: 6px; }
.msnb-view .msnb-swatch.msnb-look-group { background: var(--tint0); border-color: var(--control-line); }
.msnb-view .msnb-swatch.msnb-look-heat-0 { background: var(--heat0); border-color: var(--heat-line); }
.msnb-view .msnb-swatch.msnb-look-heat-4 { background: var(--heat4); border-color: var(--heat-line); }
.msnb-view .msnb-swatch.msnb-look-kept {
  height: 0;
  border: 0;
  border-top: 2px dashed var(--kept);
  border-radius: 0;
  background: none;
}

/* ---- memory */

.msnb-view .msnb-axis { fill: none; stroke: var(--soft); }
.msnb-view .msnb-svg .msnb-axis-word { font-size: 11px; fill: var(--soft); }
.msnb-view .msnb-peak { stroke: var(--alarm); stroke-width: 1.4; stroke-dasharray: 4 3; fill: none; }
.msnb-view .msnb-svg .msnb-peak-word { font-size: 11px; font-weight: 600; fill: var(--alarm); }
.msnb-view .msnb-buffer > .msnb-outline { fill: var(--blue); stroke: var(--blue-line); stroke-width: 0.8; }
.msnb-view .msnb-buffer.msnb-held > .msnb-outline { fill: var(--heat2); stroke: var(--heat-line); stroke-width: 1.4; }
.msnb-view .msnb-buffer.msnb-held > .msnb-line-text { fill: var(--heat-ink); }
.msnb-view .msnb-buffer:hover > .msnb-outline { stroke: var(--accent); stroke-width: 2.4; }

/* ---- sliders, tables, text */

.msnb-view .msnb-slider { display: flex; align-items: center; gap: 8px; padding: 4px 2px; }
.msnb-view .msnb-slider input { flex: 1; max-width: 480px; accent-color: var(--accent); }
.msnb-view .msnb-count { color: var(--soft); font-size: 12px; white-space: nowrap; }
.msnb-view .msnb-law { min-height: 5.9em; padding: 2px 4px 6px; overflow-wrap: anywhere; }
.msnb-view .msnb-steps .msnb-law { min-height: 4.4em; }
.msnb-view .msnb-fact { color: var(--soft); }
.msnb-view .msnb-pair { display: flex; flex-wrap: wrap; gap: 8px; align-items: flex-start; }
.msnb-view .msnb-pair > .msnb-graph { flex: 1 1 320px; min-width: 0; }
.msnb-view code { font: 12px var(--jp-code-font-family, monospace); background: var(--tint1); padding: 1px 4px; color: var(--ink); }
.msnb-view code.msnb-before { border-bottom: 2px solid var(--red-line); }
.msnb-view code.msnb-after { border-bottom: 2px solid var(--teal-line); }
.msnb-view .msnb-warning,
.msnb-view .msnb-note { color: var(--soft); padding: 2px 4px; overflow-wrap: anywhere; }
.msnb-view .msnb-warning { color: var(--alarm); font-weight: 600; }
.msnb-view .msnb-details { margin: 2px 0; }
.msnb-view .msnb-details > summary { cursor: pointer; color: var(--soft); padding: 1px 4px; }
.msnb-view .msnb-scroll { overflow: auto; max-height: 420px; }
.msnb-view .msnb-table { border-collapse: collapse; margin: 2px 4px; font-size: 12px; color: var(--ink); }
.msnb-view .msnb-table :is(th, td) {
  text-align: left;
  padding: 2px 10px 2px 4px;
  border-bottom: 1px solid var(--line);
  white-space: pre;
  unicode-bidi: isolate;
}
.msnb-view .msnb-table th { color: var(--soft); position: sticky; top: 0; background: var(--card); }
.msnb-view .msnb-table tbody tr:hover { background: var(--tint1); }
.msnb-view .msnb-place {
  font: inherit;
  color: var(--jp-content-link-color, var(--accent));
  background: none;
  border: 0;
  padding: 0;
  cursor: pointer;
}
.msnb-view .msnb-place:hover { text-decoration: underline; }
.msnb-view .msnb-text {
  font: 12px/1.4 var(--jp-code-font-family, monospace);
  max-height: 420px;
  overflow: auto;
  background: var(--tint1);
  color: var(--ink);
  padding: 6px 8px;
  white-space: pre;
}
.msnb-view .msnb-image { max-width: 100%; }

/* ---- the cell's line, the status bar, the side panel */

.cm-line.msnb-marked-line {
  background: color-mix(in srgb, var(--jp-brand-color1, #1976d2) 16%, transparent);
  box-shadow: inset 3px 0 0 var(--jp-brand-color1, #1976d2);
}
.cm-line .msnb-marked-part {
  background: color-mix(in srgb, var(--jp-brand-color1, #1976d2) 24%, transparent);
  border-radius: 2px;
}
.msnb-status {
  font: inherit;
  color: inherit;
  background: none;
  border: 0;
  padding: 0 6px;
  height: 100%;
  cursor: pointer;
}
.msnb-status:hover { background: var(--jp-layout-color3, #ccc); }
.msnb-status:focus-visible { outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: -2px; }

.msnb-panel {
  background: var(--jp-layout-color1, #fff);
  color: var(--jp-ui-font-color1, #212121);
  overflow: auto;
  min-width: 220px;
  font: 13px/1.4 var(--jp-ui-font-family, system-ui, sans-serif);
}
.msnb-panel .msnb-section { padding: 6px 12px 8px; border-bottom: 1px solid var(--jp-border-color2, #e0e0e0); }
.msnb-panel h3 { font-size: 12px; font-weight: 600; margin: 2px 0 5px; color: var(--jp-ui-font-color2, #616161); }
.msnb-panel :is(.msnb-select, .msnb-search) {
  width: 100%;
  box-sizing: border-box;
  min-height: 26px;
  color: var(--jp-ui-font-color1, #212121);
  border-color: var(--jp-border-color1, #bdbdbd);
}
.msnb-panel .msnb-search { cursor: text; }
.msnb-panel .msnb-button { margin-top: 5px; color: var(--jp-ui-font-color1, #212121); border-color: var(--jp-border-color1, #bdbdbd); }
.msnb-panel input[type='range'] { width: 100%; accent-color: var(--accent); }
.msnb-panel .msnb-results { list-style: none; margin: 5px 0 0; padding: 0; max-height: 40vh; overflow: auto; }
.msnb-panel .msnb-result { padding: 3px 5px; border-radius: 4px; cursor: pointer; overflow: hidden; }
.msnb-panel .msnb-result:is(:hover, :focus) { background: var(--jp-layout-color2, #eee); }
.msnb-panel .msnb-small {
  font-size: 11px;
  color: var(--jp-ui-font-color2, #616161);
  white-space: nowrap;
  overflow: hidden;
  text-overflow: ellipsis;
  unicode-bidi: isolate;
}
.msnb-panel .msnb-choices { display: flex; flex-wrap: wrap; gap: 2px 12px; }
.msnb-panel .msnb-choice { display: inline-flex; align-items: center; gap: 4px; }
.msnb-panel b.msnb-before { color: var(--red-line); }
.msnb-panel b.msnb-after { color: var(--teal-line); }

@media print {
  .msnb-view .msnb-canvas { max-height: none; overflow: visible; background: none; }
  .msnb-view .msnb-svg { min-width: 0; max-width: 100%; }
  .msnb-view :is(.msnb-button, .msnb-select, .msnb-told, .msnb-slider) { display: none; }
  .msnb-view { print-color-adjust: exact; -webkit-print-color-adjust: exact; break-inside: avoid; }
}
@media (prefers-reduced-motion: no-preference) {
  .msnb-view .msnb-outline { transition: stroke 0.12s, stroke-width 0.12s; }
}
`;var bt=require("@lumino/widgets");var Dt="http://www.w3.org/2000/svg";function c(s,e={},...t){return Te(document.createElement(s),e,t)}function v(s,e={},...t){return Te(document.createElementNS(Dt,s),e,t)}function Te(s,e,t){for(let[n,r]of Object.entries(e))r!=null&&r!==!1&&s.setAttribute(n,r===!0?"":String(r));return s.append(...t.filter(n=>n!=null)),s}function E(s,e,t){let n=c("button",{type:"button",class:"msnb-button",title:e,"aria-label":e},s);return n.addEventListener("click",t),n}function F(s){s.addEventListener("focusin",e=>e.target.setAttribute("data-lm-suppress-shortcuts","true"))}function ue(s,e){let t=new TextEncoder().encode(s),n="";return t.forEach(r=>n+=String.fromCharCode(r)),c("img",{class:"msnb-image",alt:e,src:`data:image/svg+xml;base64,${btoa(n)}`})}function $e(s,e){return[...s.split("<details",1)[0].matchAll(/\ssrc="(data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+)"/g)].map(([,r])=>c("img",{class:"msnb-image",alt:e,src:r}))}function q(s,...e){return c("details",{class:"msnb-details"},c("summary",{},s),...e)}var pe="application/vnd.msnb.graph.v1+json",_t="msnb.graph";function x(s){return typeof s=="object"&&s!==null&&!Array.isArray(s)}function w(s){return Array.isArray(s)?s:[]}function u(s,e=200){let t=typeof s=="string"?s:typeof s=="number"||typeof s=="boolean"?String(s):"";return(t.length>e?t.slice(0,e-1)+"\u2026":t).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu," ")}function U(s){return typeof s=="number"&&Number.isFinite(s)&&s>=0?Math.min(Math.floor(s),1e6):0}function Ht(s){let[e,...t]=w(s);if(typeof e!="string"||t.length<3||!t.every(o=>typeof o=="number"))return null;let[n,r,i]=t;return[u(e),n,r,i]}function Ne(s){if(!x(s)||s.schema!==_t)throw new Error("This output is not an msnb picture.");if(s.version!==1)throw new Error(`This picture has version ${u(s.version)} of its form; this msnb-lab reads version 1.`);let e=new Z;return{kind:u(s.kind),picture:e.picture(s,0),calls:w(s.calls).filter(x).map(t=>e.picture(t,0)),overlays:Wt(s.overlays),notes:w(s.notes).slice(0,50).map(t=>u(t)),data:x(s.data)?s.data:{},truncated:s.truncated===!0||e.left<0}}function Ce(s){let e=["norm","time","flops","memory"].indexOf(s);return e<0?9:e}function Ge(s){return x(s)?new Z().picture(s,0):null}var Z=class{constructor(){this.left=2e4}picture(e,t){let n=[],r=new Set;for(let o of t>40?[]:w(e.nodes))x(o)&&typeof o.id=="string"&&!r.has(o.id)&&--this.left>=0&&(r.add(o.id),n.push(this.box(o,t)));let i=w(e.edges).map(Ie);return{title:u(e.title),boxes:n,edges:i.filter(o=>o!==null&&r.has(o.source)&&r.has(o.target)),columns:t>0?[]:w(e.columns).filter(x).map(o=>this.picture(o,t+1)),kept:w(e.kept).map(zt).filter(o=>o!==null),upwards:e.upwards===!0}}box(e,t){let n=w(e.bodies).filter(x);return{id:e.id,kind:u(e.kind),title:u(e.title),lines:w(e.lines).slice(0,40).map(r=>u(r)),family:u(e.family),scope:u(e.scope),place:u(e.place),why:u(e.why),mark:u(e.mark),heat:typeof e.heat=="number"&&e.heat>=0&&e.heat<=1?e.heat:null,tint:Vt(e.tint),loc:Ht(e.loc),ports:U(e.ports),bodies:n.map(r=>({label:u(r.label),picture:this.picture(r,t+1)})),inside:x(e.inside)?this.picture(e.inside,t+1):null,open:e.open===!0,size:U(e.size)}}};function Vt(s){let[e,t]=w(s);return typeof e=="number"&&Number.isInteger(e)&&e>=0?[e,u(t)]:null}function Ie(s){let[e,t,n,r,i]=w(s);return typeof e!="string"||typeof t!="string"||e===t?null:{source:e,target:t,port:U(n),label:u(r),leaving:U(i)}}function zt(s){let[e,t,n]=w(s);return Ie([e,t,0,n])}function Wt(s){return x(s)?Object.entries(s).filter(e=>x(e[1])).sort(([e],[t])=>Ce(e)-Ce(t)||(e<t?-1:1)).map(([e,t])=>({name:u(e),title:u(t.title),unit:u(t.unit),nodes:Ae(t.nodes,n=>typeof n=="number"&&Number.isFinite(n)),marks:new Map([...Ae(t.marks,n=>typeof n=="string")].map(([n,r])=>[n,u(r)]))})):[]}function Ae(s,e){let t=new Map;for(let[n,r]of x(s)?Object.entries(s):[])e(r)&&t.set(n,r);return t}function*O(s,e=null){for(let t of s.boxes){yield[t,e];for(let n of t.bodies)yield*O(n.picture,t);t.inside&&(yield*O(t.inside,t))}for(let t of s.columns)yield*O(t,e)}function L(s){return s.kind==="in"||s.kind==="out"}var _=20,be=14,fe=7,ge=18,ve=6.4,Kt=7.9,we=12,Y=22,Re=30,B=12,Ft=70,je=8,qt=4e3,Ut=4;function N(s,e,t=0){return new he(s,e).run(t)}function J(s){return[...s].length}function Zt(s,e){let t={box:s,x:0,y:0,w:6,h:0,inside:[],inner:null,entry:[],exit:[]};if(L(s))return t;if(s.inside&&e(s))return Xt(t,s.inside,e);let n=Math.max(J(s.title)*Kt,...s.lines.map(r=>J(r)*ve))+2*we;return n+=s.kind==="node"?0:10,t.w=Math.max(n,Math.min(14*s.ports+10,300)),t.h=ge+be*s.lines.length+2*fe-2,s.bodies.length&&Yt(t,e),t}function Xt(s,e,t){let n=N(e,t),r=Math.max(n.w,J(s.box.title)*ve+3*we),i=(r-n.w)/2;for(let o of n.boxes)o.x+=i;for(let o of n.curves)o.points=o.points.map(([a,l])=>[a+i,l]);return n.w=r,Object.assign(s,{w:r,h:n.h,inner:n}),s.entry=n.boxes.filter(o=>o.box.kind==="in").map(o=>o.x+o.w/2),s.exit=n.boxes.filter(o=>o.box.kind==="out").map(o=>o.x+o.w/2),s}function Yt(s,e){let t=s.h+2,n=B;for(let{label:r,picture:i}of s.box.bodies){let o=N(i,e);s.inside.push({label:r,x:n,y:t,drawing:o}),n+=Math.max(o.w,J(r)*ve+2*we)+B}s.w=Math.max(s.w,n);for(let r of s.inside)r.x+=(s.w-n)/2;s.h=t+Math.max(0,...s.inside.map(r=>r.drawing.h))+B}var Q=class{constructor(e,t,n){this.placed=e;this.layer=t;this.pull=n;this.above=[];this.below=[];this.tilt=0;this.center=0;this.order=0;this.width=e?e.w:6,this.weight=e?1:4}},he=class{constructor(e,t){this.picture=e;this.layers=[];this.chains=[];this.placed=e.boxes.map(n=>Zt(n,t)),this.index=new Map(e.boxes.map((n,r)=>[n.id,r])),this.edges=this.distinct()}run(e){if(!this.placed.length)return{picture:this.picture,boxes:[],curves:[],w:40,h:10};this.makeLayers();for(let r=0;r<je;r++)this.sort(r%2===0);this.firstPlaces();for(let r=0;r<=je;r++)this.place(r%2===0);this.gather();let t=this.finish(Re),n=this.layers.length-1;return e<=t.h||!n?t:this.finish(Re+Math.min((e-t.h)/n,Ft))}at(e){return this.index.get(e)}distinct(){let e=new Map;for(let t of this.picture.edges){let n=this.placed[this.at(t.source)],r=this.placed[this.at(t.target)],i=n.exit.length?t.leaving:0,o=r.box.kind==="group"&&!r.entry.length?0:t.port,a=JSON.stringify([t.source,i,t.target,o]);e.has(a)||e.set(a,t)}return[...e.values()]}levels(){let e=this.placed.map(()=>0);for(let n of this.edges){let[r,i]=[this.at(n.source),this.at(n.target)];e[i]=Math.max(e[i],e[r]+1)}let t=[...e];return this.pullDown(e),this.toTheBorder(e),[e,t]}toTheBorder(e){let t=this.placed.map(o=>o.box.kind),n=e.filter((o,a)=>!L(this.placed[a].box)),r=Math.min(...n.length?n:[0])-1,i=Math.max(...n.length?n:[0])+1;t.forEach((o,a)=>{e[a]=o==="in"?r:o==="out"?i:e[a]})}pullDown(e){let t=new Map;for(let n of this.edges){let r=this.at(n.source);t.set(r,[...t.get(r)??[],this.at(n.target)])}for(let n=this.placed.length-1;n>=0;n--){let r=t.get(n);r&&this.placed[n].box.kind!=="in"&&(e[n]=Math.min(...r.map(i=>e[i]))-1)}}makeLayers(){let[e,t]=this.levels(),n=Math.min(...e),r=this.placed.map((o,a)=>new Q(o,e[a]-n,(1+t[a])**2));this.layers=Array.from({length:Math.max(...e)-n+1},()=>[]);for(let o of r)this.layers[o.layer].push(o);let i=qt;for(let o of this.edges)i-=this.chain(o,r[this.at(o.source)],r[this.at(o.target)],i);for(let o of this.layers)o.forEach((a,l)=>a.order=l)}chain(e,t,n,r){let i=[t],o=n.layer-t.layer;for(let a=t.layer+1;o<=r&&a<n.layer;a++){let l=new Q(null,a,t.pull);this.layers[a].push(l),i.push(l)}i.push(n);for(let a=1;a<i.length;a++)i[a-1].below.push(i[a]),i[a].above.push(i[a-1]);return i[i.length-2].tilt=.01*e.port,this.chains.push([e,i]),i.length-2}sort(e){for(let t of e?this.layers:[...this.layers].reverse()){for(let n of t){let r=e?n.above:n.below;r.length&&(n.order=D(r.map(i=>i.order))/r.length+(e?0:n.tilt))}t.sort((n,r)=>n.order-r.order),t.forEach((n,r)=>n.order=r-t.length/2)}}firstPlaces(){for(let e of this.layers){let t=-D(e.map(n=>n.width+Y))/2;for(let n of e)n.center=t+n.width/2,t+=n.width+Y}}place(e){for(let t of e?this.layers:[...this.layers].reverse()){let n=He(t,t.map(r=>_e(r,e)));t.forEach((r,i)=>r.center=n[i])}}gather(){for(let e of[...this.layers].reverse()){let t=e.map(o=>o.placed!==null&&o.pull<=Ut&&o.below.length>0),n=e.map((o,a)=>t[a]?_e(o,!1):o.center),r=e.map(o=>o.weight);e.forEach((o,a)=>o.weight=t[a]?1:1e6);let i=He(e,n);e.forEach((o,a)=>{o.center=i[a],o.weight=r[a]})}}finish(e){let t=this.layers.flat(),n=Ve(t.map(a=>a.center-a.width/2))-B,[r,i]=this.tops(e);this.layers.forEach((a,l)=>{let[d,m]=r[l];for(let p of a)p.center-=n,p.placed&&(p.placed.x=p.center-p.width/2,p.placed.y=d+this.down(p.placed)*(m-p.placed.h))});let o=-Ve(t.map(a=>-(a.center+a.width/2)))+B;return{picture:this.picture,boxes:this.placed,curves:this.curves(r),w:o,h:i}}down(e){return["param","state","again"].includes(e.box.kind)?this.picture.upwards?0:1:.5}tops(e){let t=this.layers.map((d,m)=>m),n=this.picture.upwards?[...t].reverse():t,[r,i]=[n[0],n[n.length-1]],o=[],a=_+(this.isBorder(r)?B:0);for(let d of n){if(this.isBorder(d)){o[d]=[d===r?0:a-e+B,0];continue}let m=Math.max(0,...this.layers[d].map(p=>p.placed?p.placed.h:0));o[d]=[a,m],a+=m+e}let l=a-e+B+(this.isBorder(i)?4:0);return this.isBorder(i)&&(o[i]=[l,0]),[o,l]}isBorder(e){return this.layers[e].some(t=>t.placed!==null&&L(t.placed.box))}curves(e){let t=this.portPlaces();return this.chains.map(([n,r],i)=>({edge:n,points:Jt(n,r,e,t.get(i),this.picture.upwards)}))}portPlaces(){let e=new Map;this.chains.forEach(([n],r)=>{e.set(n.target,[...e.get(n.target)??[],r])});let t=new Map;for(let[n,r]of e){let i=this.placed[this.at(n)];if(i.entry.length){r.forEach(a=>t.set(a,i.x+(i.entry[this.chains[a][0].port]??i.entry[0])));continue}(i.inside.length||i.box.kind==="group")&&r.sort((a,l)=>De(this.chains[a]).center-De(this.chains[l]).center);let o=Math.min(16,(i.w-20)/r.length);r.forEach((a,l)=>t.set(a,i.x+i.w/2+(l-(r.length-1)/2)*o))}return t}};function De([,s]){return s[s.length-2]}function Jt(s,e,t,n,r){let i=e[e.length-1],o=e[0].placed,a=i.placed,l=o.x+(o.exit.length?o.exit[s.leaving]??o.exit[0]:o.w/2),d=[[l,r?o.y:o.y+o.h]],m=X(t[e[0].layer],!r);Math.abs(m-d[0][1])>1&&d.push([l,m]);for(let h of e.slice(1,-1))d.push([h.center,X(t[h.layer],r)],[h.center,X(t[h.layer],!r)]);let p=r?a.y+a.h:a.y,g=X(t[i.layer],r);return Math.abs(g-p)>1&&d.push([n,g]),d.push([n,p]),d}function X([s,e],t){return t?s+e:s}function _e(s,e){let t=s.placed===null?[...s.above,...s.below]:e?s.above:s.below;return t.length?!e||s.placed===null?D(t.map(n=>n.center))/t.length:D(t.map(n=>n.center*n.pull))/D(t.map(n=>n.pull)):s.center}function He(s,e){let t=[0];for(let i=1;i<s.length;i++){let o=s[i-1].placed&&s[i].placed?Y:Y/2;t.push(t[i-1]+(s[i-1].width+s[i].width)/2+o)}let n=[];return s.forEach((i,o)=>{let[a,l,d]=[e[o]-t[o],i.weight,1];for(;n.length&&n[n.length-1][0]>a;){let[m,p,g]=n.pop();a=(a*l+m*p)/(l+p),l+=p,d+=g}n.push([a,l,d])}),n.flatMap(([i,,o])=>new Array(o).fill(i)).map((i,o)=>i+t[o])}function D(s){let e=0;for(let t of s)e+=t;return e}function Ve(s){return s.reduce((e,t)=>Math.min(e,t),1/0)}var ze=84,We=20;function Fe(s,e){if(!s.columns.length){let a=N(s,e);return{picture:s,columns:[{x:0,y:0,drawing:a}],lines:[],w:a.w,h:a.h}}let t=Math.max(...s.columns.map(a=>N(a,e).h)),n=s.columns.map(a=>N(a,e,t)),r=Math.max(...n.map(a=>a.h)),i=[],o=0;for(let a of n)i.push({x:o,y:We+(a.picture.upwards?r-a.h:0),drawing:a}),o+=a.w+ze;return{picture:s,columns:i,lines:Qt(s,i),w:o-ze,h:r+We}}function qe(s,e,t,n){for(let r of s.boxes)n.set(r.box.id,[e+r.x,t+r.y,r.w,r.h]),r.inner&&qe(r.inner,e+r.x,t+r.y,n)}function Qt(s,e){let t=new Map;e.forEach(o=>qe(o.drawing,o.x,o.y,t));let n=en(s,t),r=new Map;n.forEach((o,a)=>{for(let l of[`>${o.source}`,`<${o.target}`])r.set(l,[...r.get(l)??[],a])});let i=o=>{let[,a,,l]=t.get(o);return a+l/2};for(let[o,a]of r){let l=d=>o[0]===">"?n[d].target:n[d].source;a.sort((d,m)=>i(l(d))-i(l(m)))}return n.map((o,a)=>{let[l,d]=[t.get(o.source),t.get(o.target)],m=l[0]<d[0],[p,g]=[r.get(`>${o.source}`),r.get(`<${o.target}`)];return{edge:o,start:[m?l[0]+l[2]:l[0],Ke(l,p.indexOf(a),p.length)],end:[m?d[0]:d[0]+d[2],Ke(d,g.indexOf(a),g.length)]}})}function en(s,e){let t=new Map;for(let[i,o]of O(s))t.set(i.id,o);let n=i=>{let o=i;for(;o!==void 0&&!e.has(o);)o=t.get(o)?.id;return o??null},r=new Map;for(let i of s.kept){let[o,a]=[n(i.source),n(i.target)],l=JSON.stringify([o,a]);o!==null&&a!==null&&o!==a&&!r.has(l)&&r.set(l,{...i,source:o,target:a})}return[...r.values()]}function Ke([,s,,e],t,n){let r=Math.min(9,(e-12)/Math.max(n,1));return s+e/2+(t-(n-1)/2)*r}var tn={blue:["elementwise","transcendental","logic","compare","casting","erf","activation"],violet:["contract","conv","linalg","einsum"],amber:["reduce","cumulative","norm","pool"],red:["loss","optimise"],teal:["triangle","shape","join","slicing","getitem","index","scatter","padding","sorting","selection"],green:["random"],control:["control","effects"]},nn=new Map(Object.entries(tn).flatMap(([s,e])=>e.map(t=>[t,s]))),Ye=["param","again","state","result","group"],sn=[["blue","elementwise"],["violet","matmul, conv"],["amber","reduce, norm, pool"],["red","loss, optimiser"],["teal","shape, index"],["green","random"],["control","control, effects"],["grey","constant, other"],["param","input"],["again","input, shown again"],["state","state"],["result","result"],["group","closed group"]],Ue=["grey","blue","amber","teal","violet","green","red","pink","control"],Ze=5;function xe(s){return Ue[s[0]%Ue.length]}function Je(s){return s.tint?xe(s.tint):Qe(s)}function Qe(s){return Ye.includes(s.kind)?s.kind:s.kind==="constant"?"grey":nn.get(s.family)??"grey"}function et(s){return[...new Map(s.flatMap(t=>t.tint?[[t.tint.join(),t.tint]]:[])).values()].sort((t,n)=>t[0]-n[0])}function tt(s){let e=new Set(s.filter(t=>!t.tint||Ye.includes(t.kind)).map(Qe));return sn.filter(([t])=>e.has(t))}function nt(s){return Math.min(Math.floor(s*Ze),Ze-1)}function st(s){return s!==""&&s!=="new"&&s!=="changed"}function G(s,e){return s>1e300?"not finite":e==="B"?Xe(s,1024,["B","KB","MB","GB","TB"]):e==="s"?s>=1?`${H(s)} s`:s>=.001?`${H(s*1e3)} ms`:`${H(s*1e6)} \xB5s`:e==="flops"?Xe(s,1e3,["flops","kflops","Mflops","Gflops","Tflops"]):`${H(s)} ${e}`.trim()}function Xe(s,e,t){let n=0;for(;s>=e&&n<t.length-1;)s/=e,n++;return`${H(s)} ${t[n]}`}function H(s){return s!==0&&Math.abs(s)<.001?s.toExponential(2).replace(/\.?0+e/,"e"):String(Number(s.toPrecision(3)))}var y=8;function rt(s,e,t){let[n,r]=[s.w+2*y,s.h+2*y],i=v("svg",{class:"msnb-svg",viewBox:`0 0 ${b(n)} ${b(r)}`,width:b(n),role:"group"});i.style.setProperty("--msnb-w",b(n));let o=new ke({root:i,nodes:new Map,edges:[],w:n,h:r},e,t);return o.sheet(s),o.scene}var ke=class{constructor(e,t,n){this.scene=e;this.label=t;this.extra=n}sheet(e){let t=this.scene.root,n=e.columns.length>1;for(let{x:i,drawing:o}of n?e.columns:[])t.append(P(y+i,y,o.w,e.h,10,"msnb-column")),t.append(I(y+i+12,y+18,on(o.picture.title,o.w-20),"msnb-column-title"));let r=n?1:0;e.columns.forEach(i=>this.frames(i.drawing,y+i.x,y+i.y,r));for(let{edge:i,start:o,end:a}of e.lines){let l=this.across(o,a);this.scene.edges.push({source:i.source,target:i.target,element:l}),t.append(l)}e.columns.forEach(i=>this.contents(t,i.drawing,y+i.x,y+i.y,r))}frames(e,t,n,r){for(let i of e.boxes)i.inner&&(this.scene.root.append(P(t+i.x,n+i.y,i.w,i.h,9,`msnb-frame msnb-depth-${r%2}`)),this.frames(i.inner,t+i.x,n+i.y,r+1))}contents(e,t,n,r,i){let o=new Map(t.boxes.map(a=>[a.box.id,a]));for(let a of t.curves){let l=o.get(a.edge.target),d=rn(a,n,r,l.box.kind!=="out"&&!l.inner,t.picture.upwards);this.scene.edges.push({source:a.edge.source,target:a.edge.target,element:d}),e.append(d)}for(let a of t.boxes)a.inner?(this.contents(e,a.inner,n+a.x,r+a.y,i+1),e.append(this.frameTitle(a,n+a.x,r+a.y))):L(a.box)||e.append(this.box(a,n+a.x,r+a.y,i))}node(e,t){let n=v("g",{class:`msnb-node ${t}`,tabindex:-1,role:"button","aria-label":this.label(e)});return n.dataset.id=e.id,this.scene.nodes.set(e.id,n),n}frameTitle(e,t,n){let r=this.node(e.box,"msnb-frame-title");r.setAttribute("aria-expanded","true");let i=[...e.box.title].length*6.3+24;return r.append(P(t+3,n+3,i,_-2,5,"msnb-outline")),r.append(I(t+8,n+_-5,`\u25BE ${e.box.title}`,"msnb-tag")),r}box(e,t,n,r){let{box:i}=e,o=i.mark?st(i.mark)?" msnb-alarm":" msnb-new":"",a=this.node(i,`msnb-look-${Je(i)}${o}`),l=["param","again","state","result"].includes(i.kind)&&e.h<60;i.kind==="group"&&(a.append(P(t+3,n+3,e.w,e.h,8,"msnb-outline msnb-under")),i.inside&&a.setAttribute("aria-expanded","false")),a.append(P(t,n,e.w,e.h,l?e.h/2:8,"msnb-outline"));let d=t+e.w/2,m=n+fe+ge-6,p=i.kind==="group"&&i.inside?"\u25B8 ":"";a.append(I(d,m,p+i.title,"msnb-title"));for(let h of i.lines)m+=be,a.append(I(d,m,h,"msnb-line-text"));let g=this.extra(i);g&&a.append(I(t+e.w-2,n-4,g,"msnb-badge"));for(let h of e.inside){let k=v("g",{class:"msnb-body"});k.append(P(t+h.x,n+h.y,h.drawing.w,h.drawing.h,8,`msnb-frame msnb-depth-${r%2}`)),k.append(I(t+h.x+9,n+h.y+_-6,h.label,"msnb-tag")),this.framesInto(k,h.drawing,t+h.x,n+h.y,r+1),this.contents(k,h.drawing,t+h.x,n+h.y,r+1),a.append(k)}return a}framesInto(e,t,n,r,i){for(let o of t.boxes)o.inner&&(e.append(P(n+o.x,r+o.y,o.w,o.h,9,`msnb-frame msnb-depth-${i%2}`)),this.framesInto(e,o.inner,n+o.x,r+o.y,i+1))}across([e,t],[n,r]){let i=n>e?1:-1,[o,a,l,d]=[e+y,t+y,n+y-5*i,r+y],m=Math.max(Math.abs(l-o)/2,30)*i,p=`M${b(o)} ${b(a)}C${b(o+m)} ${b(a)} ${b(l-m)} ${b(d)} ${b(l)} ${b(d)}`;return v("g",{class:"msnb-edge msnb-kept"},v("path",{d:p}),ot(l+5*i,d,i,0))}};function rn(s,e,t,n,r){let i=s.points.map(([m,p])=>[m+e,p+t]),[o,a]=i[i.length-1],l=r?-1:1;n&&(i[i.length-1]=[o,a-5*l]);let d=`M${b(i[0][0])} ${b(i[0][1])}`;for(let m=1;m<i.length;m++){let[[p,g],[h,k]]=[i[m-1],i[m]],j=(k-g)/2;d+=Math.abs(p-h)<.05?`L${b(h)} ${b(k)}`:`C${b(p)} ${b(g+j)} ${b(h)} ${b(k-j)} ${b(h)} ${b(k)}`}return v("g",{class:"msnb-edge"},v("path",{d}),n?ot(o,a,0,l):null)}function ot(s,e,t,n){let[r,i]=[s-7*t,e-7*n],[o,a]=t?[0,3.4]:[3.4,0],l=`M${b(r-o)} ${b(i-a)}L${b(s)} ${b(e)}L${b(r+o)} ${b(i+a)}Z`;return v("path",{d:l,class:"msnb-head"})}function on(s,e){let t=Math.floor(e/6.8),n=[...s];return n.length>t?n.slice(0,Math.max(t-1,1)).join("")+"\u2026":s}function P(s,e,t,n,r,i){return v("rect",{x:b(s),y:b(e),width:b(Math.max(t,0)),height:b(Math.max(n,0)),rx:b(r),class:i})}function I(s,e,t,n){return v("text",{x:b(s),y:b(e),class:n},t)}function b(s){return String(Math.round(s*10)/10)}var an={ArrowUp:[0,-1],ArrowDown:[0,1],ArrowLeft:[-1,0],ArrowRight:[1,0]},it=1.25,T=class{constructor(e,t,n,r=e.title,i=null){this.picture=e;this.overlays=t;this.listener=n;this.title=r;this.node=c("div",{class:"msnb-graph"});this.boxes=new Map;this.chosen=null;this.overlay=null;this.parents=new Map;this.toggled=new Map;this.canvas=c("div",{class:"msnb-canvas"});this.legend=c("div",{class:"msnb-legend","aria-label":"legend"});this.told=c("div",{class:"msnb-told","aria-live":"polite"});this.scene=null;this.marked=new Set;this.zoom=0;this.stop="";this.isOpen=e=>this.toggled.get(e.id)??e.open;this.picker=c("select",{class:"msnb-select","aria-label":"overlay"});for(let[o,a]of O(e))this.boxes.set(o.id,o),a&&this.parents.set(o.id,a);this.node.append(this.bar(),this.canvas,this.told,this.legend),this.overlay=t.find(o=>o.name===i)??null,this.listen(),this.draw()}*found(){for(let e of this.boxes.values())L(e)||(yield e)}get chosenBox(){return this.chosen===null?null:this.boxes.get(this.chosen)??null}toggle(e){let t=this.boxes.get(e);t?.inside&&(this.toggled.set(e,!this.isOpen(t)),this.draw(),this.focus(e))}setAll(e){this.toggled.clear();for(let t of this.boxes.values())t.inside&&e!==null&&this.toggled.set(t.id,e);this.draw()}choose(e,t=!1){this.chosen=e;let n=e===null?null:this.boxes.get(e)??null;n&&t&&this.reveal(n),this.paint(),this.tell(n),this.listener.chosen(this,n)}mark(e){this.marked=new Set([...e].map(t=>this.shown(t))),this.paint()}setOverlay(e){this.overlay=this.overlays.find(t=>t.name===e)??null,this.picker.value=this.overlay?.name??"",this.draw()}get overlayNames(){return this.overlays.map(e=>e.name)}numberOf(e,t){let n=t.nodes.get(e.id);if(n!==void 0||!e.inside)return n??0;let r=e.inside.boxes.map(i=>this.numberOf(i,t));return t.name==="norm"?Math.max(0,...r):r.reduce((i,o)=>i+o,0)}describe(e){let t=e.kind==="group"?e.inside?this.isOpen(e)?"open group":"closed group":"group":"",n=this.overlay?this.numberOf(e,this.overlay):0,r=this.overlay&&n?`${this.overlay.title} ${G(n,this.overlay.unit)}`:"",i=e.why?`by ${e.why}`:"";return[t,e.title,...e.lines,e.scope,e.place,i,r,e.mark].filter(Boolean).join(", ")}bar(){let e=c("div",{class:"msnb-bar"},c("span",{class:"msnb-name"},this.title));return this.overlays.length&&(this.picker.append(c("option",{value:""},"kinds of work")),this.overlays.forEach(t=>this.picker.append(c("option",{value:t.name},t.title))),this.picker.addEventListener("change",()=>this.setOverlay(this.picker.value||null)),e.append(this.picker)),[...this.boxes.values()].some(t=>t.inside)&&e.append(E("Open all","Open all groups",()=>this.setAll(!0)),E("Reset","Groups as they were saved",()=>this.setAll(null))),e.append(E("\u2212","Smaller",()=>this.setZoom(-1)),E("+","Larger",()=>this.setZoom(1))),e}setZoom(e){let t=this.zoom||this.scale();this.zoom=Math.min(Math.max(t*(e>0?it:1/it),.2),4),this.scene?.root.classList.add("msnb-zoomed"),this.scene?.root.style.setProperty("--msnb-zoom",String(this.zoom))}scale(){return this.scene&&this.scene.root.getBoundingClientRect().width/this.scene.w||1}draw(){let e=this.canvas.contains(document.activeElement),t=n=>{let r=this.overlay?this.numberOf(n,this.overlay):0;return this.overlay&&r?G(r,this.overlay.unit):""};this.scene=rt(Fe(this.picture,this.isOpen),n=>this.describe(n),t),this.scene.root.setAttribute("aria-label",`${this.title}: ${this.scene.nodes.size} boxes; arrow keys move`),this.zoom&&(this.scene.root.classList.add("msnb-zoomed"),this.scene.root.style.setProperty("--msnb-zoom",String(this.zoom))),this.canvas.replaceChildren(this.scene.root),this.picker.value=this.overlay?.name??"",this.heat(),this.explain(),this.moveStop(this.scene.nodes.has(this.stop)?this.stop:[...this.scene.nodes.keys()][0]??""),this.paint(),e&&this.focus(this.stop)}heat(){let e=new Map;for(let i of this.scene?.nodes.keys()??[]){let o=this.boxes.get(i),a=this.overlay&&!this.isShownOpen(o)?this.numberOf(o,this.overlay):0;a>0&&e.set(i,a)}let t=[...e.values()].filter(i=>i<1e300),[n,r]=[Math.min(...t),Math.max(...t)];for(let[i,o]of e){let a=this.overlay?.name!=="norm"?o/r:r>n?(Math.log10(o)-Math.log10(n))/(Math.log10(r)-Math.log10(n)):0;this.scene?.nodes.get(i)?.classList.add("msnb-hot",`msnb-heat-${nt(Math.min(a,1))}`)}}isShownOpen(e){return e.inside!==null&&this.isOpen(e)}explain(){let t=[...this.scene?.nodes.keys()??[]].map(i=>this.boxes.get(i)).filter(i=>!this.isShownOpen(i)),n=(i,o)=>c("span",{class:"msnb-entry"},c("span",{class:`msnb-swatch msnb-look-${i}`}),o),r=this.overlay?[n("heat-0","small"),n("heat-4",`large: ${this.overlay.title}`)]:[...et(t).map(i=>n(xe(i),i[1])),...tt(t).map(([i,o])=>n(i,o))];this.picture.kept.length&&r.push(n("kept","kept for backward")),this.legend.replaceChildren(...r)}shown(e){let t=e;for(;t!==void 0&&!this.scene?.nodes.has(t);)t=this.parents.get(t)?.id;return t??e}reveal(e){for(let t=this.parents.get(e.id);t;t=this.parents.get(t.id))t.inside&&this.toggled.set(t.id,!0);this.draw(),this.moveStop(e.id),this.scene?.nodes.get(e.id)?.scrollIntoView({block:"center",inline:"center"})}paint(){let e=this.chosen===null?null:this.shown(this.chosen);for(let[t,n]of this.scene?.nodes??[])n.classList.toggle("msnb-marked",this.marked.has(t)),n.classList.toggle("msnb-chosen",t===e),n.setAttribute("aria-pressed",String(t===e));for(let t of this.scene?.edges??[])t.element.classList.toggle("msnb-near",e!==null&&(t.source===e||t.target===e))}hover(e){for(let t of this.scene?.edges??[])t.element.classList.toggle("msnb-hovered",!!e&&(t.source===e.id||t.target===e.id));this.tell(e??this.chosenBox),this.listener.hovered(this,e)}tell(e){this.told.textContent=e?this.describe(e):""}listen(){let e=r=>{let i=r.target.closest(".msnb-node");return i?this.boxes.get(i.dataset.id??"")??null:null},t=null,n=r=>{r!==t&&(t=r,this.hover(r))};this.canvas.addEventListener("pointerover",r=>n(e(r))),this.canvas.addEventListener("pointerleave",()=>n(null)),this.canvas.addEventListener("focusin",r=>n(e(r))),this.canvas.addEventListener("focusout",()=>n(null)),this.canvas.addEventListener("click",r=>{let i=e(r);this.moveStop(i?.id??this.stop),this.act(i)}),this.canvas.addEventListener("keydown",r=>this.key(r))}act(e){e?.inside&&this.toggle(e.id),this.choose(e?.id??null)}key(e){let t=an[e.key];if(t)this.focus(this.neighbour(this.stop,t));else if(e.key==="Enter"||e.key===" ")this.act(this.boxes.get(this.stop)??null);else if(e.key==="Escape")this.choose(null);else return;e.preventDefault(),e.stopPropagation()}neighbour(e,[t,n]){let r=d=>{let m=this.scene?.nodes.get(d)?.querySelector(".msnb-outline")?.getBoundingClientRect();return m?[m.x+m.width/2,m.y+m.height/2]:[0,0]},[i,o]=r(e),[a,l]=[e,1/0];for(let d of this.scene?.nodes.keys()??[]){let[m,p]=r(d),g=(m-i)*t+(p-o)*n,h=Math.abs((m-i)*n)+Math.abs((p-o)*t);d!==e&&g>2&&g+3*h<l&&([a,l]=[d,g+3*h])}return a}moveStop(e){this.scene?.nodes.get(this.stop)?.setAttribute("tabindex","-1"),this.stop=e,this.scene?.nodes.get(e)?.setAttribute("tabindex","0")}focus(e){this.moveStop(e),this.scene?.nodes.get(e)?.focus({preventScroll:!1})}};var ye=class{constructor(){this.shown=new Set;this.current=null;this.marker=null;this.live=null;this.watchers=new Set}watch(e){return this.watchers.add(e),()=>this.watchers.delete(e)}changed(){this.watchers.forEach(e=>e())}add(e){this.shown.add(e),this.current=this.current??e,this.changed()}drop(e){this.shown.delete(e),this.current===e&&(this.current=[...this.shown].pop()??null),this.changed()}select(e){this.current!==e&&(this.current=e,this.changed())}inside(e){return[...this.shown].filter(n=>e.contains(n.node)).sort((n,r)=>n.node.compareDocumentPosition(r.node)&Node.DOCUMENT_POSITION_FOLLOWING?-1:1)}},f=new ye;var[V,at,S,R,$]=[60,16,34,260,720],ln=5e3;function lt(s,e){let t=w(s.data.buffers).slice(0,ln).map(cn).filter(h=>h!==null),n=w(s.data.live).filter(h=>typeof h=="number");if(s.kind!=="memory"||!t.length||!n.length)return null;let r=c("div",{class:"msnb-told","aria-live":"polite"}),i=v("svg",{class:"msnb-svg msnb-chart",viewBox:`0 0 ${$} ${S+R+36}`,width:$,role:"img","aria-label":`memory of ${s.picture.title}`});i.style.setProperty("--msnb-w",String($));let o=($-V-at)/n.length,a=R/Math.max(1,...t.map(h=>h.low+h.size)),l=n.reduce((h,k)=>Math.max(h,k),0),d=n.indexOf(l);for(let h of t){let k=h.start<=d&&d<=h.end,j=mn(h,o,a,k);j.addEventListener("pointerenter",()=>r.textContent=dn(h,k)),i.append(j)}let m=V+(d+.5)*o,p=m<$/2;i.append(v("path",{class:"msnb-axis",d:`M${V} ${S}V${S+R}H${$-at}`}),v("path",{class:"msnb-peak",d:`M${m} ${S-6}V${S+R}`}),v("text",{class:"msnb-peak-word",x:p?m+6:m-6,y:S-8,"text-anchor":p?"start":"end"},`peak ${G(l,"B")}`),v("text",{class:"msnb-axis-word",x:V-8,y:S+10,"text-anchor":"end"},"address"),v("text",{class:"msnb-axis-word",x:$/2,y:S+R+22,"text-anchor":"middle"},"node in program order"));let g=c("div",{class:"msnb-bar"},c("span",{class:"msnb-name"},`memory of ${s.picture.title}`));return e.classList.add("msnb-memory"),c("div",{class:"msnb-graph"},g,c("div",{class:"msnb-canvas"},i),r)}function cn(s){let[e,...t]=w(s);if(!t.slice(0,4).every(a=>typeof a=="number"&&Number.isFinite(a)&&a>=0)||t.length<4)return null;let[n,r,i,o]=t;return n?{label:u(e),size:n,start:r,end:i,low:o}:null}function dn(s,e){return`${s.label}, ${G(s.size,"B")}, from node ${s.start} to node ${s.end}${e?", held at the peak":""}`}function mn(s,e,t,n){let[r,i]=[V+s.start*e,Math.max((s.end-s.start+1)*e,.6)],o=Math.max(s.size*t,.6),a=S+R-s.low*t-o,l=Math.floor(i/6.2),d=[...s.label],m=d.length>l?d.slice(0,Math.max(l-1,0)).join("")+"\u2026":s.label;return v("g",{class:`msnb-buffer ${n?"msnb-held":""}`},v("rect",{class:"msnb-outline",x:r,y:a,width:i,height:o,rx:o>6?2:0}),o>13&&i>30?v("text",{class:"msnb-line-text",x:r+i/2,y:a+o/2+3.5},m):null)}var ct=300,un=160,pn=/^cell \[\d+\] line \d+/,hn=new Set(["id","picture","stage"]),dt="layer node op stage pass law times rewrites nodes type values histogram flops bytes flops/byte median time limit difference verdict rms watch before after why line".split(" ");function mt(s){let e=dt.indexOf(s);return e<0?dt.length-1.5:e}function C(s){return w(s).filter(x)}function ut(s,e=hn,t){let r=[...new Set(s.slice(0,50).flatMap(a=>Object.keys(a)))].filter(a=>!e.has(a)).sort((a,l)=>mt(a)-mt(l)||(a<l?-1:1)).slice(0,20),i=s.slice(0,ct).map(a=>{let l=c("tr",{},...r.map(d=>bn(a[d])));return t&&l.addEventListener("pointerenter",()=>t(a)),l}),o=s.length-ct;return c("div",{class:"msnb-scroll"},c("table",{class:"msnb-table"},c("thead",{},c("tr",{},...r.map(a=>c("th",{scope:"col"},u(a))))),c("tbody",{},...i)),o>0?c("div",{},`\u2026 and ${o} more rows`):null)}function bn(s){let e=u(s,un);return c("td",{},pn.test(e)?z(e):e)}function z(s){let e=c("button",{type:"button",class:"msnb-place",title:"Show this line"},s);return e.addEventListener("pointerenter",()=>f.marker?.markPlace(e,s,!1)),e.addEventListener("click",()=>f.marker?.markPlace(e,s,!0)),e}var fn=2e3,W=class{constructor(e,t,n){this.show=n;this.count=c("span",{class:"msnb-count"});this.input=c("input",{type:"range",min:0,max:Math.max(e-1,0),value:0,"aria-label":t}),this.input.addEventListener("input",()=>this.move(Number(this.input.value))),this.node=c("div",{class:"msnb-slider"},E("\u25C2","Back",()=>this.move(this.position-1)),this.input,E("\u25B8","On",()=>this.move(this.position+1)),this.count)}get position(){return Number(this.input.value)}move(e){let t=Number(this.input.max);this.input.value=String(Math.min(Math.max(e,0),t)),this.input.setAttribute("aria-valuetext",this.show(this.position)),this.count.textContent=`${this.position+1} of ${t+1}`}},ee=class{constructor(e,t){this.listener=t;this.node=c("div",{class:"msnb-stages"});this.graphs=[];this.told=c("div",{class:"msnb-law","aria-live":"polite"});this.pair=c("div",{class:"msnb-pair"});this.drawn=-1;this.stages=C(e.stages),this.pictures=this.stages.map(r=>x(r.picture)?Ge(r.picture):null);let n=C(e.rewrites);this.stops=this.stages.flatMap((r,i)=>[{stage:i,rewrite:null},...n.filter(o=>o.stage===i).map(o=>({stage:i,rewrite:o}))]),this.stops=this.stops.slice(0,fn),this.slider=new W(this.stops.length,"stage or rewrite",r=>this.show(r)),this.node.append(this.slider.node,this.told,this.pair),this.slider.move(0)}show(e){let t=this.stops[e];if(!t)return"";let n=this.stages[t.stage],r=t.rewrite?vn(t.rewrite):gn(n);return this.told.replaceChildren(c("b",{},u(n.stage)),...r),this.drawStage(t.stage),`${u(n.stage)}: ${this.told.textContent}`}drawStage(e){if(e===this.drawn)return;this.drawn=e;let t=o=>this.pictures.slice(0,o).reverse().find(a=>a!==null)??null,n=this.pictures[e]??t(e+1),r=e>0&&this.pictures[e]?t(e):null,i=u(this.stages[e].stage);this.graphs=[...r?[new T(r,[],this.listener,`before ${i}`)]:[],...n?[new T(n,[],this.listener,r?`after ${i}`:i)]:[]],this.pair.replaceChildren(...this.graphs.map(o=>o.node))}};function gn(s){let e=u(s.difference),t=[`${u(s.rewrites)} rewrites, ${u(s.nodes)} nodes`];return e&&t.push(e==="not checked"?e:`largest difference of the results ${e}`),[te("",t.join("; ")),te("law",u(s.law))]}function vn(s){let e=u(s.line);return[te("law",u(s.law)),te("why",u(s.why)),c("div",{class:"msnb-rewrite"},c("code",{class:"msnb-before"},u(s.before))," \u2192 ",c("code",{class:"msnb-after"},u(s.after)||"nothing"),...e?[" ",z(e)]:[])]}function te(s,e){return c("div",{},s?c("span",{class:"msnb-fact"},`${s} `):null,e)}var ne=class{constructor(e,t){this.graph=t;this.node=c("div",{class:"msnb-steps"});this.told=c("div",{class:"msnb-law","aria-live":"polite"});this.rows=C(e.rows),this.slider=new W(this.rows.length,"node",n=>this.show(n)),this.rows.some(n=>n.watch)&&this.slider.node.append(E("\u25B8|","On to the next breakpoint or NaN",()=>this.run())),this.node.append(this.slider.node,this.told),this.describe(0)}run(){let e=this.rows.findIndex((t,n)=>n>this.slider.position&&t.watch);this.slider.move(e<0?this.rows.length-1:e)}show(e){let t=this.rows[e];return t&&this.graph.choose(u(t.id),!0),this.describe(e)}describe(e){let t=this.rows[e];if(!t)return"";let n=u(t.line),r=[t.type,t.values,t.histogram].map(i=>u(i)).filter(Boolean);return this.told.replaceChildren(c("b",{},`${u(t.node)} ${u(t.op)}`),c("div",{},c("code",{},r.join("   "))),...t.watch?[c("div",{class:"msnb-warning"},u(t.watch))]:[],...n?[z(n)]:[]),`${u(t.op)} ${r.join(" ")}`}};var wn=2e5,xn={rows:"node by node"},se=class{constructor(e,t){this.node=c("div",{class:"msnb-view",role:"region"});this.stages=null;this.own=[];this.bundle=Ne(e);let{kind:n,picture:r,calls:i,data:o,overlays:a}=this.bundle;this.node.setAttribute("aria-label",`msnb ${n}: ${r.title}`),F(this.node),this.node.addEventListener("pointerdown",()=>f.select(this)),this.node.addEventListener("focusin",()=>f.select(this));let l={hovered:(d,m)=>f.marker?.mark(this.node,m??d.chosenBox,!1),chosen:(d,m)=>{this.own.concat(this.stages?.graphs??[]).forEach(p=>p!==d&&p.chosen!==null&&kn(p)),f.marker?.mark(this.node,m,m?.kind!=="group")}};if(n==="passes")this.stages=new ee(o,l),this.node.append(this.stages.node);else if(r.boxes.length||r.columns.length){let d=n==="graph"?null:a[0]?.name??null;this.own=[r,...i].map((m,p)=>new T(m,p?[]:a,l,m.title,p?null:d)),this.node.append(...this.own.map(m=>m.node))}else{let d=lt(this.bundle,this.node);this.node.append(...d?[d]:pt(this.bundle,t))}n==="plan"&&this.own.length&&this.node.append(...pt(this.bundle,t).slice(1)),n==="profile"&&this.own.length&&t.svg&&this.node.append(q("per op",ue(t.svg,`cost of ${r.title}`))),n==="step"&&this.own.length&&this.node.prepend(new ne(o,this.own[0]).node),this.node.prepend(...this.bundle.notes.map(d=>c("div",{class:"msnb-note"},d))),this.below(t)}get graphs(){return this.stages?this.stages.graphs:this.own}get moves(){return this.stages}below(e){let{data:t,truncated:n}=this.bundle;n&&this.node.append(c("div",{class:"msnb-note"},'Some deeper groups are left out of the notebook; .save("name.ir") keeps all of the program.')),typeof t.summary=="string"&&this.node.append(c("div",{class:"msnb-note"},u(t.summary,600)));for(let[r,i]of Object.entries(t)){let o=C(i);if(o.length&&o.length===i.length){let a=l=>typeof l=="string"&&this.own[0]?.mark([l]);this.node.append(q(xn[r]??u(r),ut(o,void 0,l=>a(l.id))))}}e.text&&this.node.append(q("text",c("pre",{class:"msnb-text"},e.text.slice(0,wn))))}markLine(e,t){let n=0;for(let r of this.graphs){let i=[...r.found()].filter(o=>yn(o.loc,e,t)).map(o=>o.id);r.mark(i),n+=i.length}return n}};function pt({kind:s,picture:e},t){let n=`${s} of ${e.title}`,r=$e(t.html,n);return r.length||!t.svg?r:[ue(t.svg,n)]}function kn(s){s.chosen=null,s.mark([])}function yn(s,e,t){return s!==null&&s[0]===e&&s[1]===t}var En="application/vnd.jupyter.widget-view+json",Mn=-20,Ee=class extends bt.Panel{constructor(){super();this.view=null;this.addClass("msnb-output")}async renderModel(t){this.forget();let n=t.data,r=t.trusted&&En in n?await Sn(n):null;if(r)return this.addWidget(r),r.renderModel(t);try{let i=a=>ht(n[a]),o={html:i("text/html"),svg:i("image/svg+xml"),text:i("text/plain")};this.view=new se(n[pe],o),this.node.replaceChildren(this.view.node),this.isAttached&&f.add(this.view)}catch(i){this.node.replaceChildren(c("pre",{class:"msnb-error"},i.message),ht(n["text/plain"]))}}onAfterAttach(t){super.onAfterAttach(t),this.view&&f.add(this.view)}onBeforeDetach(t){this.forget(!1),super.onBeforeDetach(t)}dispose(){this.forget(),super.dispose()}forget(t=!0){this.view&&(f.drop(this.view),this.view=t?null:this.view)}};async function Sn(s){return await f.live?.(s)??null}function ht(s){return Array.isArray(s)?s.join(""):typeof s=="string"?s:""}var ft={id:"msnb-lab:renderer",description:"Pictures of msnb programs.",rendererFactory:{safe:!0,mimeTypes:[pe],createRenderer:()=>new Ee},rank:Mn,dataType:"json"};var Ot=require("@jupyterlab/apputils"),Pt=require("@jupyterlab/notebook"),Tt=require("@jupyterlab/statusbar");var Ln="__import__('msnb.notebook.magics.status_bar', fromlist=['state'])",Bn="__import__('sys').modules.get('msnb') is not None and ";function re(s){return s?.sessionContext.session?.kernel??null}function gt(s){return Me(s,"state()")}function oe(s){return Me(s,"next_mode()")}function ie(s){return Me(s,"next_device()")}async function Me(s,e){if((await s.info).language_info.name!=="python")return null;let t={code:"",silent:!0,store_history:!1,allow_stdin:!1,stop_on_error:!1,user_expressions:{msnb:`${Bn}${Ln}.${e}`}},r=(await s.requestExecute(t,!0).done).content.user_expressions?.msnb;return r?.status==="ok"?On(r.data?.["text/plain"]??""):null}function On(s){try{let e=JSON.parse(s);if(x(e)&&typeof e.mode=="string"){let t=w(e.devices).map(n=>u(n,40));return{mode:u(e.mode,40),device:u(e.device,40),devices:t,error:u(e.error,400)}}}catch{}return null}var A=require("@codemirror/state"),M=require("@codemirror/view");var Pn=/^cell \[(\d+)\]$/,Tn=/^(cell \[\d+\]) line (\d+)/,Se=A.StateEffect.define(),$n=A.StateField.define({create:()=>M.Decoration.none,update(s,e){let t=e.docChanged?M.Decoration.none:s;for(let n of e.effects)n.is(Se)&&(t=n.value?Cn(e.state.doc,n.value):M.Decoration.none);return t},provide:s=>M.EditorView.decorations.from(s)});function Cn(s,e){let[,t,n,r]=e;if(t<1||t>s.lines)return M.Decoration.none;let i=s.line(t),o=new A.RangeSetBuilder;o.add(i.from,i.from,M.Decoration.line({class:"msnb-marked-line"}));let[a,l]=[i.from+n,Math.min(i.from+r,i.to)];return n>=0&&a<l&&o.add(a,l,M.Decoration.mark({class:"msnb-marked-part"})),o.finish()}var ae=class{constructor(e){this.tracker=e;this.marked=new Set;this.equipped=new WeakSet;this.wanted=0;e.activeCellChanged.connect((t,n)=>this.follow(n))}mark(e,t,n){this.clear();let r=t?.loc??vt(t);r&&this.show(e,r,n)}markPlace(e,t,n){this.clear();let r=Tn.exec(t);r&&this.show(e,[r[1],Number(r[2]),-1,-1],n)}clear(){this.wanted++,this.marked.forEach(e=>e.dom.isConnected&&e.dispatch({effects:Se.of(null)})),this.marked.clear()}async show(e,t,n){let r=this.wanted,i=this.tracker.find(l=>l.node.contains(e)),o=i&&An(i,t[0]);if(!i||!o)return;n&&!Nn(o,i)&&await i.content.scrollToItem?.(i.content.widgets.indexOf(o),"smart");let a=o.editor?.editor;a&&r===this.wanted&&(this.equip(a),a.dispatch({effects:Se.of(t)}),this.marked.add(a))}equip(e){if(!this.equipped.has(e)){this.equipped.add(e);let t=M.EditorView.updateListener.of(n=>{(n.selectionSet||n.focusChanged)&&n.view.hasFocus&&this.cursor(n.view)});e.dispatch({effects:A.StateEffect.appendConfig.of([$n,t])})}}follow(e){let t=e?.editor?.editor;t&&(this.equip(t),this.cursor(t))}cursor(e){let t=this.tracker.find(o=>o.node.contains(e.dom)),n=t?.content.widgets.find(o=>o.editor?.editor===e),r=e.state.doc.lineAt(e.state.selection.main.head).number,i=`cell [${n?.model.executionCount??""}]`;t&&f.inside(t.node).forEach(o=>o.markLine(i,r))}};function An(s,e){let t=Number(Pn.exec(e)?.[1]??NaN);return s.content.widgets.find(n=>n.model.type==="code"&&n.model.executionCount===t)}function Nn(s,e){let[t,n]=[s.node.getBoundingClientRect(),e.content.node.getBoundingClientRect()];return s.editor!==null&&t.top<n.bottom-20&&t.bottom>n.top+20&&t.top>=n.top-4}function vt(s){for(let e of s?.inside?.boxes??[]){let t=e.loc??vt(e);if(t)return t}return null}var Mt=require("@lumino/widgets");var Gn=3e3;function wt(s){return[...s.found()].filter(e=>e.kind!=="group").slice(0,Gn)}function xt(s){return JSON.stringify([s.kind,s.title,s.lines.filter(e=>e!=="only here")])}function kt(s,e){let[t,n]=[wt(s),wt(e)],[r,i]=[t.map(xt),n.map(xt)],o=i.length+1,a=new Uint16Array((r.length+1)*o);for(let p=r.length-1;p>=0;p--)for(let g=i.length-1;g>=0;g--){let h=p*o+g;a[h]=r[p]===i[g]?a[h+o+1]+1:Math.max(a[h+o],a[h+1])}let l=[],[d,m]=[0,0];for(;d<r.length||m<i.length;)d<r.length&&m<i.length&&r[d]===i[m]?(d++,m++):m>=i.length||d<r.length&&a[(d+1)*o+m]>=a[d*o+m+1]?l.push({sign:"-",box:t[d++],graph:s}):l.push({sign:"+",box:n[m++],graph:e});return l}var yt=200,le=class extends Mt.Widget{constructor(t){super();this.search=c("input",{type:"search",class:"msnb-search",placeholder:"op, name, scope, type, line"});this.pictures=c("select",{class:"msnb-select","aria-label":"picture"});this.results=c("ul",{class:"msnb-results",role:"listbox","aria-label":"found boxes"});this.overlays=c("div",{class:"msnb-choices",role:"radiogroup","aria-label":"overlay"});this.slider=c("div",{});this.other=c("select",{class:"msnb-select","aria-label":"compare with"});this.differences=c("div",{class:"msnb-differences"});this.id="msnb-panel",this.scope=()=>t()??document.body,this.title.caption="msnb: pictures of programs",this.title.icon={render:n=>n.replaceChildren(In())},this.addClass("msnb-panel"),this.search.setAttribute("aria-label","search in the picture"),this.node.append(K("Picture",this.pictures),K("Search",this.search,this.results),K("Overlay",this.overlays),K("Passes",this.slider),K("Compare",this.other,E("Compare","Compare the two pictures",()=>this.compare()),this.differences)),F(this.node),this.search.addEventListener("input",()=>this.find()),this.search.addEventListener("keydown",n=>this.keys(n)),this.results.addEventListener("keydown",n=>this.keys(n)),this.pictures.addEventListener("change",()=>this.pick()),f.watch(()=>this.isVisible&&this.refresh())}onAfterShow(){this.refresh()}get all(){return f.inside(this.scope())}get view(){let t=f.current;return t&&this.all.includes(t)?t:this.all[0]??null}get graph(){return this.view?.graphs[0]??null}refresh(){let[t,n]=[this.all,this.view],r=i=>t.flatMap((o,a)=>o===i?[]:[c("option",{value:a},`${a+1}. ${o.node.getAttribute("aria-label")}`)]);this.pictures.replaceChildren(...r(null)),this.pictures.value=String(n?t.indexOf(n):-1),this.other.replaceChildren(...r(n)),this.differences.replaceChildren(),this.node.classList.toggle("msnb-empty",!n),this.find(),this.showOverlays(),this.showSlider()}pick(){let t=this.all[Number(this.pictures.value)];t&&(t.node.scrollIntoView({block:"start"}),f.select(t))}find(){let t=this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean),n=o=>{let a=o.kind==="group"?[]:[...o.lines,o.scope,o.place,o.why,o.kind,o.mark],l=[o.title,...a].join(" ").toLowerCase();return t.every(d=>l.includes(d))},r=(this.view?.graphs??[]).flatMap(o=>[...o.found()].filter(n).map(a=>[o,a])),i=t.length?r.slice(0,yt):[];this.results.replaceChildren(...i.map(([o,a])=>Et(o,a))),this.results.setAttribute("aria-label",`${i.length} found boxes`),this.graph?.mark(i.map(([,o])=>o.id))}keys(t){let n=[...this.results.querySelectorAll(".msnb-result")],r=n.indexOf(document.activeElement);if(t.key==="ArrowDown")n[Math.min(r+1,n.length-1)]?.focus();else if(t.key==="ArrowUp")(r<=0?this.search:n[r-1]).focus();else if(t.key==="Enter")(r<0?n[0]:n[r])?.click();else return;t.preventDefault(),t.stopPropagation()}showOverlays(){let t=this.graph,n=t?.overlayNames??[],r=(o,a)=>{let l=c("input",{type:"radio",name:"msnb-overlay",value:o});return l.checked=(t?.overlay?.name??"")===o,l.addEventListener("change",()=>t?.setOverlay(o||null)),c("label",{class:"msnb-choice"},l,a)},i=n.length?["",...n].map(o=>r(o,o||"none")):["This picture carries no numbers."];this.overlays.replaceChildren(...i)}nextOverlay(){let t=["",...this.graph?.overlayNames??[]],n=t.indexOf(this.graph?.overlay?.name??"");this.graph?.setOverlay(t[(n+1)%t.length]||null),this.showOverlays()}showSlider(){let t=this.view?.moves?.slider;if(!t){this.slider.replaceChildren("Show %ms_passes to move through a compilation.");return}let n=c("input",{type:"range",min:0,max:t.input.max,"aria-label":"stage or rewrite"});n.value=t.input.value,n.addEventListener("input",()=>t.move(Number(n.value))),this.slider.replaceChildren(n)}compare(){let[t,n]=[this.graph,this.all[Number(this.other.value)]?.graphs[0]];if(!t||!n){this.differences.replaceChildren("Two pictures are needed.");return}let r=kt(t,n);for(let a of[t,n])a.mark(r.filter(l=>l.graph===a).map(l=>l.box.id));let i=r.slice(0,yt).map(({sign:a,box:l,graph:d})=>Et(d,l,a)),o=r.length?`${r.length} boxes differ`:"The same boxes in both.";this.differences.replaceChildren(c("div",{},o),c("ul",{class:"msnb-results"},...i))}};function In(){let s=v("path",{class:"jp-icon3",fill:"#616161",d:"M2 2h6v4H6v2h6v2h4v4h-6v-2H6v2h2v2H2v-4h2V6H2z"});return v("svg",{viewBox:"0 0 18 18",width:20,height:20},s)}function K(s,...e){return c("section",{class:"msnb-section","aria-label":s},c("h3",{},s),...e)}function Et(s,e,t=""){let n=[e.lines.join(" "),e.scope,e.place].filter(Boolean).join(" \xB7 "),r=c("li",{class:"msnb-result",tabindex:-1,role:t?"button":"option"},t?c("b",{class:t==="-"?"msnb-before":"msnb-after"},t==="-"?"\u2212 ":"+ "):null,c("b",{},e.title),c("div",{class:"msnb-small"},n));return r.addEventListener("click",()=>s.choose(e.id,!0)),r.addEventListener("pointerenter",()=>f.marker?.mark(s.node,e,!1)),r}var St=require("@jupyterlab/apputils"),Lt=require("@jupyterlab/notebook"),Bt=require("@lumino/widgets");var Rn={graph:"Graph",eager:"PyNative"},jn=120,ce=class extends Bt.Widget{constructor(e,t){super({node:document.createElement("button")}),this.addClass("msnb-status"),this.node.setAttribute("type","button"),this.node.dataset.item=e,this.node.addEventListener("click",t)}say(e,t){this.node.textContent=e,this.node.title=t,this.node.setAttribute("aria-label",t)}},de=class{constructor(e){this.tracker=e;this.state=null;this.mode=new ce("mode",()=>void this.switch(oe));this.device=new ce("device",()=>void this.switch(ie));this.timer=0;this.asked=0;e.currentChanged.connect(()=>this.soon()),e.forEach(t=>this.follow(t)),e.widgetAdded.connect((t,n)=>this.follow(n)),Lt.NotebookActions.executed.connect((t,{notebook:n})=>{n===e.currentWidget?.content&&this.soon()}),this.show(null)}follow(e){let t="";e.sessionContext.kernelChanged.connect(()=>this.soon()),e.sessionContext.statusChanged.connect((n,r)=>{/start/.test(t)&&r==="idle"&&this.soon(),t=r==="busy"?t:r}),this.soon()}soon(){window.clearTimeout(this.timer),this.timer=window.setTimeout(()=>void this.refresh(gt),jn)}async switch(e){await this.refresh(e),this.state?.error&&St.Notification.warning(this.state.error,{autoClose:6e3})}async refresh(e){let t=re(this.tracker.currentWidget),n=++this.asked,r=null;try{r=t&&!/dead|terminating|unknown|starting/.test(t.status)?await e(t):null}catch{r=null}n===this.asked&&this.show(r)}show(e){if(this.state=e,this.mode.setHidden(!e),this.device.setHidden(!e),e){let t=Rn[e.mode]??e.mode,n=e.mode==="graph"?"PyNative":"Graph";this.mode.say(`msnb: ${t}`,`msnb runs in ${t} mode. Click for ${n} mode.`),this.device.say(e.device,`msnb runs on ${e.device}. Click for the next of ${e.devices.join(", ")}.`)}}};var Le="application/vnd.jupyter.widget-view+json";function Dn(s,e,t,n){let r=new le(()=>e?.currentWidget?.node??null);s.shell.add(r,"right",{rank:900});let i=e?new de(e):null;e&&(f.marker=new ae(e),f.live=o=>Hn(e,o),e.currentChanged.connect(()=>r.isVisible&&r.refresh())),i&&t&&(t.registerStatusItem("msnb-lab:mode",{item:i.mode,align:"left",rank:20}),t.registerStatusItem("msnb-lab:device",{item:i.device,align:"left",rank:21}));for(let[o,a,l]of _n(s,r,i))s.commands.addCommand(`msnb:${o}`,{label:a,execute:l}),n?.addItem({command:`msnb:${o}`,category:"msnb"})}function _n(s,e,t){let n=()=>f.current,r=()=>{s.shell.activateById(e.id),e.refresh()},i=o=>()=>n()?.moves?.slider.move(n().moves.slider.position+o);return[["switch-mode","Switch between PyNative and Graph mode",()=>t?.switch(oe)],["switch-device","Switch to the next device",()=>t?.switch(ie)],["open-panel","Show the panel of pictures",r],["search","Search in the picture",()=>(r(),e.search.focus())],["open-groups","Open all groups of the picture",()=>n()?.graphs.forEach(o=>o.setAll(!0))],["reset-groups","Groups of the picture as they were saved",()=>n()?.graphs.forEach(o=>o.setAll(null))],["next-overlay","Paint the next numbers over the picture",()=>e.nextOverlay()],["next-stage","On to the next stage or rewrite",i(1)],["previous-stage","Back to the stage or rewrite before",i(-1)],["compare","Compare the picture with another",()=>(r(),e.compare())]]}async function Hn(s,e){let t=e[Le],n=x(t)&&typeof t.model_id=="string"?t.model_id:"",r=[];s.forEach(i=>r.push(i));for(let i of r){let o=re(i);if(n&&o&&i.content.rendermime.mimeTypes.includes(Le)){let a=await o.requestCommInfo({target_name:"jupyter.widget"});if(a.content.comms&&n in a.content.comms)return i.content.rendermime.createRenderer(Le)}}return null}var Be={name:"msnb-lab:none"},$t={id:"msnb-lab:plugin",description:"Pictures of msnb programs linked to the lines of the cells; mode and device in the status bar.",autoStart:!0,optional:[Pt.INotebookTracker??Be,Tt.IStatusBar??Be,Ot.ICommandPalette??Be],activate:Dn};var Oe=document.createElement("style");Oe.dataset.from="msnb-lab";Oe.textContent=Pe;document.head.append(Oe);
};
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
