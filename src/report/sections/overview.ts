import { classNames } from '../class-names.js';
import type { NamedFigure } from '../figures.js';
import { decimal, partsOf, scoresOf, whole } from '../figures.js';
import { type Html, html } from '../html.js';
import type { ReportInput } from '../report-input.js';

/** Name, kind and the figures to know first. */
export function overview({ id, created, ...report }: ReportInput): Html {
  const { name, family, type, size } = report.training.model_config;
  const made = [created && `created ${created}`, id && `id ${id}`].filter(Boolean).join(', ');
  const tiles = keyFigures(report).map(
    (figure) => html`<div><dt>${figure.name}</dt><dd>${figure.value}</dd></div>`,
  );
  return html`<header>
<h1>${name}</h1>
<p>${family} ${size}, ${type}</p>
${made === '' ? undefined : html`<p class="note">${made}</p>`}
<dl class="tiles">${tiles}</dl>
</header>`;
}

function keyFigures({ config, training, evaluation }: ReportInput): NamedFigure[] {
  const { epoch } = training.training_stats;
  const { dataset } = training;
  const rows = dataset?.dev_rows ?? evaluation?.rows;
  const best = partsOf(training).at(-1);
  const { noun, names } = classNames(config);
  return [
    ...(best === undefined
      ? []
      : scoresOf(best.figures).map((score) => ({ ...score, name: `dev ${score.name}` }))),
    ...(evaluation?.retrieval?.mrr === undefined
      ? []
      : [{ name: 'dev MRR', value: decimal(evaluation.retrieval.mrr) }]),
    ...(dataset === undefined ? [] : [{ name: 'training rows', value: whole(dataset.train_rows) }]),
    ...(rows === undefined ? [] : [{ name: 'dev rows', value: whole(rows) }]),
    ...(names.length === 0 ? [] : [{ name: `${noun}s`, value: whole(names.length) }]),
    { name: 'epochs', value: whole(epoch) },
  ];
}
