import type { TrainingRecord } from '../../model-folder/index.js';
import { asWords } from '../figures.js';
import { type Html, html } from '../html.js';

/** How the model was made: the hyperparameters, with defaults filled in, and the versions that it ran on. */
export function configuration({ hyperparameters, training_config, seed, versions }: TrainingRecord): Html {
  const asked = Object.keys(training_config).map(asWords);
  return html`<section>
<h2>Configuration</h2>
${settings({ ...hyperparameters, seed })}
<p class="note">${asked.length === 0 ? 'All of them are defaults.' : `Asked for: ${asked.join(', ')}; the others are defaults.`}</p>
${versions && html`<h3>Versions</h3>${settings(versions)}`}
</section>`;
}

function settings(values: Readonly<Record<string, string | number | boolean>>): Html {
  const rows = Object.entries(values).map(
    ([name, value]) => html`<tr><th scope="row">${asWords(name)}</th><td>${String(value)}</td></tr>`,
  );
  return html`<table><tbody>${rows}</tbody></table>`;
}
