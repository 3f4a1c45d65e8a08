import type { ClassFigures } from '../../model-folder/index.js';
import { counted, percent, whole } from '../figures.js';
import { type Html, html } from '../html.js';

/** If there are more classes, the best ones are folded away. */
const MAX_UNFOLDED = 30;

/** Precision, recall, F1 and support of each label or entity type, the worst F1 first. */
export function classTable({
  classes = [],
}: {
  readonly classes?: readonly ClassFigures[];
}): Html | undefined {
  if (classes.length === 0) return undefined;
  const worstFirst = [...classes].sort((a, b) => a.f1 - b.f1);
  const folded = worstFirst.slice(MAX_UNFOLDED);
  return html`<section>
<h2>Each class</h2>
${table(worstFirst.slice(0, MAX_UNFOLDED))}
${folded.length === 0 ? undefined : html`<details><summary>${counted(folded.length, 'better one')}</summary>${table(folded)}</details>`}
<p class="note">The worst first. Precision: how often the class is right when it is given. Recall: how much of it is found.
Support: how often it occurs in these rows.</p>
</section>`;
}

function table(classes: readonly ClassFigures[]): Html {
  return html`<table><thead><tr><th scope="col">Class</th><th scope="col">Precision</th><th scope="col">Recall</th>
<th scope="col">F1</th><th scope="col">Support</th></tr></thead>
<tbody>${classes.map(classRow)}</tbody></table>`;
}

function classRow({ label, precision, recall, f1, support }: ClassFigures): Html {
  return html`<tr><th scope="row">${label}</th><td>${percent(precision)}</td><td>${percent(recall)}</td>
<td class="bar" style="--share: ${(100 * f1).toFixed(1)}%">${percent(f1)}</td><td>${whole(support)}</td></tr>`;
}
