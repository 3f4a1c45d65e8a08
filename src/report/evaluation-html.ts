import type { ModelEvaluation } from '../model-folder/index.js';
import type { NamedFigure } from './figures.js';
import { html } from './html.js';
import { CONTENT_POLICY } from './report-html.js';
import { classTable } from './sections/class-table.js';
import { confusionMatrix } from './sections/confusion-matrix.js';
import { mistakes } from './sections/mistakes.js';
import { style } from './style.js';

/** What a page about an evaluation shows. */
export interface EvaluationPage extends Pick<ModelEvaluation, 'classes' | 'confusion' | 'mistakes'> {
  readonly title: string;
  /** What was judged, in words. */
  readonly subtitle: string;
  /** To know first. */
  readonly figures: readonly NamedFigure[];
  /** What the figures mean. */
  readonly note: string;
}

/** One self-contained HTML page about how a model does on examples. */
export async function evaluationHtml(page: EvaluationPage): Promise<string> {
  const { title, subtitle, figures, note } = page;
  const tiles = figures.map(({ name, value }) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_POLICY}">
<title>${title}: evaluation of a model</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p>${subtitle}</p>
<dl class="tiles">${tiles}</dl>
<p class="note">${note}</p>
</header>
<main>
${classTable(page, 'examples')}
${confusionMatrix(page)}
${mistakes(page, 'examples')}
</main>
</body>
</html>
`.text;
}
