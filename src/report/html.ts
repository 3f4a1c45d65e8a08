/** A piece of HTML that goes into a page as it is. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Html[] | undefined;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes values unless they are {@link Html}, also in quoted attributes. Lists are joined; undefined adds nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.map((text, at) => text + inserted(values[at])).join(''));
}

function inserted(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('\n');
  return String(value).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Numbers; texts are aligned to the left. */
type Column = string | { readonly text: string };

interface TableOptions {
  readonly className?: string;
  /** The first cell of a row. Default true. */
  readonly hasRowHeadings?: boolean;
}

export function table(
  columns: readonly Column[],
  rows: readonly (readonly Value[])[],
  { className, hasRowHeadings = true }: TableOptions = {},
): Html {
  const headings = columns.map((column) =>
    typeof column === 'string'
      ? html`<th scope="col">${column}</th>`
      : html`<th scope="col" class="text">${column.text}</th>`,
  );
  const cell = (value: Value, at: number) => {
    if (at === 0 && hasRowHeadings) return html`<th scope="row">${value}</th>`;
    if (typeof columns[at] === 'string') return html`<td>${value}</td>`;
    return html`<td class="text" dir="auto">${value}</td>`;
  };
  const body = rows.map((row) => html`<tr>${row.map(cell)}</tr>`);
  return html`<table class="${className ?? 'figures'}"><thead><tr>${headings}</tr></thead>
<tbody>${body}</tbody></table>`;
}

export function tiles(figures: readonly { readonly name: string; readonly value: string }[]): Html {
  const drawn = figures.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class="tiles">${drawn}</dl>`;
}

/** The page may use its own style and nothing else: no scripts, no requests. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** Loads nothing. @param content of the body. */
export function htmlPage(title: string, content: Html): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`;
  return page.text;
}

/** System fonts, the reader's light or dark mode, dark text on white in print. */
const style = new Html(`
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
/* Where a table is wider than the page, a shadow at its edge shows that it scrolls. */
section { overflow-x: auto; background:
  linear-gradient(to right, var(--paper) 50%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 50%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--line), transparent) left / .75rem 100% no-repeat scroll,
  linear-gradient(to left, var(--line), transparent) right / .75rem 100% no-repeat scroll; }
.texts { width: 100%; } .texts .text { overflow-wrap: anywhere; }
.texts .text + .text { min-width: 6rem; }
/* On a telephone, a mistake is a block: its text, and below it the rest. */
@media screen and (max-width: 40rem) {
  th, td { padding-inline: .4rem; } .bar { margin-inline: -.4rem; padding-inline: .4rem; }
  .texts, .texts thead, .texts tbody { display: block; }
  .texts tr { display: grid; grid-template-columns: 1fr 1fr auto; border-bottom: 1px solid var(--line); }
  .texts th, .texts td { border: 0; padding: .2rem .4rem; } .texts .text + .text { min-width: 0; }
  .texts tr > :nth-last-child(n + 4) { grid-column: 1 / -1; } }
.for, .against { color: var(--ink); border-radius: .2rem; padding: 0 .1em; border-bottom: 2px solid; }
.for { background: color-mix(in srgb, var(--accent) var(--strength), transparent); border-color: var(--accent); }
.against { background: color-mix(in srgb, var(--second) var(--strength), transparent); border-color: var(--second); border-bottom-style: dashed; }
.bar { display: block; margin: -.3rem -.75rem; padding: .3rem .75rem; background: linear-gradient(to right, color-mix(in srgb, var(--accent) 25%, transparent) var(--share), transparent 0); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--muted); }
@media print { body { padding: 0; max-width: none; font-size: 11pt; } summary { display: none; } details::details-content { content-visibility: visible; }
  figure, tr, header { break-inside: avoid; } h2 { break-after: avoid; }
  .bar, svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`);
