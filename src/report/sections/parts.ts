import type { TrainingRecord } from '../../model-folder/index.js';
import { decimal, FLATTERED, partsOf, scoresOf } from '../figures.js';
import { type Html, html } from '../html.js';

/** The dev figures of encoder, lexical expert and blend; undefined if the run recorded none. */
export function parts(training: TrainingRecord): Html | undefined {
  const measured = partsOf(training);
  const [first] = measured;
  if (first === undefined) return undefined;
  const calibrated = measured.some(({ figures }) => figures.calibration_error !== undefined);
  const rows = measured.map(({ name, figures }) => {
    const { calibration_error: error } = figures;
    const calibration = error && `${decimal(error.after)} (was ${decimal(error.before)})`;
    return html`<tr><th scope="row">${name}</th>
${scoresOf(figures).map(({ value }) => html`<td>${value}</td>`)}
${calibrated ? html`<td>${calibration ?? ''}</td>` : undefined}</tr>`;
  });
  return html`<section>
<h2>What each part reaches</h2>
<table><thead><tr><th scope="col">Part</th>
${scoresOf(first.figures).map(({ name }) => html`<th scope="col">${name}</th>`)}
${calibrated ? html`<th scope="col">calibration error</th>` : undefined}</tr></thead>
<tbody>${rows}</tbody></table>
<p class="note">${FLATTERED}${calibrated ? ' The calibration error is 0 if answers with a score of 0.8 are right 8 times out of 10, and so on for every score.' : ''}</p>
</section>`;
}
