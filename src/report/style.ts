import { Html } from './html.js';

/**
 * The page's stylesheet: system fonts, light or dark like the reader's system, dark text on white in print.
 */
export const style = new Html(`
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1d2330; --muted: #5d6675; --line: #dde1e7; --accent: #2f6f4f; --second: #b4541a; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #14181f; --ink: #e7eaf0; --muted: #9aa4b2; --line: #2f3743; --accent: #63b58c; --second: #e39a5f; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; margin: 2.5rem 0 .75rem; overflow-wrap: anywhere; }
h1 { margin: 0; } header p { margin: .25rem 0; }
h3 { font-size: 1rem; margin-top: 1.5rem; }
.note, figcaption { color: var(--muted); font-size: .875rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0 0; }
.tiles div { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .9rem; }
dt { color: var(--muted); font-size: .8rem; } dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0 0 1rem; flex: 1 1 24rem; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, .text { text-align: left; }
th { font-weight: 600; } tbody th { font-weight: 400; max-width: 20rem; overflow-wrap: break-word; }
td { white-space: nowrap; } .text { white-space: normal; }
section { overflow-x: auto; } .texts { width: 100%; } .texts .text { overflow-wrap: anywhere; }
.texts .text + .text { min-width: 6rem; }
.for, .against { color: var(--ink); border-radius: .2rem; padding: 0 .1em; border-bottom: 2px solid; }
.for { background: color-mix(in srgb, var(--accent) var(--strength), transparent); border-color: var(--accent); }
.against { background: color-mix(in srgb, var(--second) var(--strength), transparent); border-color: var(--second); border-bottom-style: dashed; }
.bar { background: linear-gradient(to right, color-mix(in srgb, var(--accent) 25%, transparent) var(--share), transparent 0); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--muted); }
@media print { body { padding: 0; max-width: none; font-size: 11pt; } summary { display: none; } details::details-content { content-visibility: visible; }
  figure, tr, header { break-inside: avoid; } h2 { break-after: avoid; }
  .bar, svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`);
