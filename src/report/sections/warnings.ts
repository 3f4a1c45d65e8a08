import type { TrainingRecord } from '../../model-folder/index.js';
import { whole } from '../figures.js';
import { type Html, html } from '../html.js';

/** What was noticed in the dataset and in the run, and didn't stop the training. */
export function warnings({ warnings: noticed }: TrainingRecord): Html | undefined {
  if (noticed.length === 0) return undefined;
  const items = noticed.map(({ message, examples }) => {
    const places = examples.map(({ file, line }) => `${file} line ${whole(line)}`).join(', ');
    return html`<li>${message}${places === '' ? '' : ` (${places})`}</li>`;
  });
  return html`<section><h2>Warnings</h2><ul>${items}</ul></section>`;
}
