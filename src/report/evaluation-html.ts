import type { ClassFigures, Confusion, Mistake } from '../model-folder/index.js';
import type { NamedFigure } from './figures.js';
import { html } from './html.js';
import { htmlPage } from './html-page.js';
import { classTable } from './sections/class-table.js';
import { confusionMatrix } from './sections/confusion-matrix.js';
import { mistakes } from './sections/mistakes.js';

/** How well a model does on some rows, to be written as a page. */
export interface EvaluationPage {
  readonly title: string;
  /** What was scored, such as "1,000 rows". */
  readonly note: string;
  /** The figures to know first. */
  readonly tiles: readonly NamedFigure[];
  /** All figures with their 95 % intervals, as text. */
  readonly intervals: readonly { readonly name: string; readonly value: string; readonly interval: string }[];
  readonly classes?: readonly ClassFigures[];
  readonly confusion?: Confusion;
  readonly mistakes: readonly Mistake[];
}

/** One self-contained HTML page about a model's answers to rows that the user brought. */
export function evaluationHtml(page: EvaluationPage): string {
  const tiles = page.tiles.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  const rows = page.intervals.map(
    ({ name, value, interval }) =>
      html`<tr><th scope="row">${name}</th><td>${value}</td><td>${interval}</td></tr>`,
  );
  return htmlPage(
    page.title,
    html`<header>
<h1>${page.title}</h1>
<p>${page.note}</p>
<dl class="tiles">${tiles}</dl>
</header>
<main>
<section>
<h2>Figures</h2>
<table><thead><tr><th scope="col">Figure</th><th scope="col">Value</th><th scope="col">95 % interval</th></tr></thead>
<tbody>${rows}</tbody></table>
<p class="note">Intervals by resampling the rows: in 95 of 100 such samples the figure is in between.</p>
</section>
${classTable(page)}
${confusionMatrix(page)}
${mistakes(page)}
</main>`,
  );
}
