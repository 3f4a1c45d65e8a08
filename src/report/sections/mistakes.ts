import type { Mistake, ModelEvaluation } from '../../model-folder/index.js';
import { counted, decimal } from '../figures.js';
import { type Html, html } from '../html.js';

/** The rows that the model got wrong, the most confident ones first. Often the dataset is wrong there. */
export function mistakes({ mistakes: listed }: Pick<ModelEvaluation, 'mistakes'>, rows = 'dev rows'): Html {
  if (listed.length === 0) return html`<section><h2>Mistakes</h2><p>None on the ${rows}.</p></section>`;
  return html`<section>
<h2>The most confident mistakes</h2>
<table class="texts"><thead><tr><th scope="col" class="text">Text</th><th scope="col" class="text">Expected</th>
<th scope="col" class="text">Predicted</th><th scope="col">Score</th></tr></thead>
<tbody>${listed.map(mistakeRow)}</tbody></table>
<p class="note">${counted(listed.length, 'mistake')}; where the model is sure but wrong, check the label first.</p>
</section>`;
}

function mistakeRow({ text, expected, predicted, score }: Mistake): Html {
  return html`<tr><td class="text" dir="auto">${text}</td><td class="text" dir="auto">${expected.join(', ') || '–'}</td>
<td class="text" dir="auto">${predicted.join(', ') || '–'}</td><td>${decimal(score)}</td></tr>`;
}
