/** The HTML reports of a model and of an evaluation. Sections whose figures are missing are left out. */
import type {
  ClassFigures,
  Confusion,
  Mistake,
  ModelEvaluation,
  TrainingRecord,
  WeighedWord,
} from '../model-folder/index.js';
import { calibrationPlot } from './calibration-plot.js';
import { confusionMatrix } from './confusion-matrix.js';
import {
  asWords,
  classNames,
  counted,
  DEV_NOTE,
  decimal,
  type NamedFigure,
  partsOf,
  percent,
  type ReportInput,
  scoresOf,
  whole,
} from './figures.js';
import { Html, html, htmlPage, table, tiles } from './html.js';
import { learningCurves } from './learning-curves.js';

/** A self-contained HTML page about a model. */
export async function reportHtml(report: ReportInput): Promise<string> {
  const { training, evaluation } = report;
  return htmlPage(
    `${training.model_config.name}: report of a model`,
    html`${overview(report)}
<main>
${parts(training)}
${learningCurves(training.training_stats)}
${evaluation && classTable(evaluation)}
${evaluation && confusionMatrix(evaluation)}
${evaluation && calibrationPlot(evaluation)}
${evaluation && mistakes(evaluation)}
${warnings(training)}
${configuration(training)}
</main>`,
  );
}

/** The content of the page about an evaluation. */
export interface EvaluationPage {
  readonly title: string;
  /** What was evaluated, such as "1,000 rows". */
  readonly note: string;
  /** The most important figures. */
  readonly tiles: readonly NamedFigure[];
  /** All figures with their 95 % intervals, as text. */
  readonly intervals: readonly { readonly name: string; readonly value: string; readonly interval: string }[];
  readonly classes?: readonly ClassFigures[];
  readonly confusion?: Confusion;
  readonly mistakes: readonly Mistake[];
}

/** A self-contained HTML page about a model's answers to rows that the user brought. */
export function evaluationHtml(page: EvaluationPage): string {
  const rows = page.intervals.map(({ name, value, interval }) => [name, value, interval]);
  return htmlPage(
    page.title,
    html`<header>
<h1>${page.title}</h1>
<p>${page.note}</p>
${tiles(page.tiles)}
</header>
<main>
<section>
<h2>Figures</h2>
${table(['Figure', 'Value', '95 % interval'], rows)}
<p class="note">Intervals come from resampling the rows: the figure lies within them in 95 of 100 samples.</p>
</section>
${classTable(page)}
${confusionMatrix(page)}
${mistakes(page)}
</main>`,
  );
}

/** Name, kind and the most important figures. */
function overview({ id, created, config, training, evaluation }: ReportInput): Html {
  const { name, family, type, size } = training.model_config;
  const made = [created && `created ${created}`, id && `id ${id}`].filter(Boolean).join(', ');
  const { dataset } = training;
  const devRows = dataset?.dev_rows ?? evaluation?.rows;
  const mrr = evaluation?.retrieval?.mrr;
  const best = partsOf(training).at(-1);
  const classes = classNames(config);
  const scores = best === undefined ? [] : scoresOf(best.figures);
  const figures: NamedFigure[] = scores.map((score) => ({ ...score, name: `dev ${score.name}` }));
  if (mrr !== undefined) figures.push({ name: 'dev MRR', value: decimal(mrr) });
  if (dataset !== undefined) figures.push({ name: 'training rows', value: whole(dataset.train_rows) });
  if (devRows !== undefined) figures.push({ name: 'dev rows', value: whole(devRows) });
  if (classes.names.length > 0) {
    figures.push({ name: `${classes.noun}s`, value: whole(classes.names.length) });
  }
  figures.push({ name: 'epochs', value: whole(training.training_stats.epoch) });
  return html`<header>
<h1>${name}</h1>
<p>${family} ${size}, ${type}</p>
${made === '' ? undefined : html`<p class="note">${made}</p>`}
${tiles(figures)}
</header>`;
}

/** The dev figures of encoder, lexical expert and blend; undefined if the training recorded none. */
function parts(training: TrainingRecord): Html | undefined {
  const measured = partsOf(training);
  const [first] = measured;
  if (first === undefined) return undefined;
  const isCalibrated = measured.some(({ figures }) => figures.calibration_error !== undefined);
  const rows = measured.map(({ name, figures }) => {
    const { calibration_error: error } = figures;
    const calibration = error && `${decimal(error.after)} (was ${decimal(error.before)})`;
    const scores = scoresOf(figures).map(({ value }) => value);
    return [name, ...scores, ...(isCalibrated ? [calibration] : [])];
  });
  const columns = scoresOf(first.figures).map(({ name }) => name);
  return html`<section>
<h2>What each part reaches</h2>
${table(['Part', ...columns, ...(isCalibrated ? ['calibration error'] : [])], rows)}
<p class="note">${DEV_NOTE}${isCalibrated ? ' The calibration error is 0 if answers with a score of 0.8 are right 8 times out of 10, and so on for every score.' : ''}</p>
</section>`;
}

/** More classes than this are folded away, the best ones first. */
const MAX_UNFOLDED = 30;

/** Precision, recall, F1 and support of each label or entity type, the worst F1 first. */
function classTable({ classes = [] }: Pick<EvaluationPage, 'classes'>): Html | undefined {
  if (classes.length === 0) return undefined;
  const rows = [...classes]
    .sort((a, b) => a.f1 - b.f1)
    .map(({ label, precision, recall, f1, support }) => [
      label,
      percent(precision),
      percent(recall),
      html`<span class="bar" style="--share: ${(100 * f1).toFixed(1)}%">${percent(f1)}</span>`,
      whole(support),
    ]);
  const columns = ['Class', 'Precision', 'Recall', 'F1', 'Support'];
  const folded = rows.slice(MAX_UNFOLDED);
  return html`<section>
<h2>Each class</h2>
${table(columns, rows.slice(0, MAX_UNFOLDED))}
${folded.length === 0 ? undefined : html`<details><summary>${counted(folded.length, 'better one')}</summary>${table(columns, folded)}</details>`}
<p class="note">The worst first. Precision: how often the class is right when it is given. Recall: how much of it is found.
Support: how often it occurs in these rows.</p>
</section>`;
}

/** The most confident mistakes. Often the label in the dataset is wrong. */
function mistakes({ mistakes: listed }: Pick<ModelEvaluation | EvaluationPage, 'mistakes'>): Html {
  if (listed.length === 0) return html`<section><h2>Mistakes</h2><p>None on these rows.</p></section>`;
  const hasWords = listed.some(({ words }) => words !== undefined);
  const rows = listed.map(({ text, expected, predicted, score, words }) => [
    coloured(text, words),
    expected.join(', ') || '–',
    predicted.join(', ') || '–',
    decimal(score),
  ]);
  const columns = [{ text: 'Text' }, { text: 'Expected' }, { text: 'Predicted' }, 'Score'];
  return html`<section>
<h2>The most confident mistakes</h2>
${table(columns, rows, { className: 'texts', hasRowHeadings: false })}
<p class="note">${counted(listed.length, 'mistake')}. Where the model is confident but wrong, check the label first.${hasWords ? legend : undefined}</p>
</section>`;
}

const legend = html` In the first texts, words are marked that speak <mark class="for" style="--strength: 45%">for</mark> the prediction
or <mark class="against" style="--strength: 45%">against</mark> it; the fainter the mark, the smaller the effect.`;

/** Weights below this share of the heaviest are left uncoloured. */
const MIN_SHARE = 0.15;
/** The heaviest word has this much colour, in percent, so that it can still be read. */
const MAX_COLOUR = 45;

/** A text whose words are coloured by their weight, relative to the heaviest word. */
function coloured(text: string, words: readonly WeighedWord[] = []): Html {
  const heaviest = words.reduce((most, { weight }) => Math.max(most, Math.abs(weight)), 0);
  let end = 0;
  const pieces = words.flatMap((word) => {
    const share = heaviest === 0 ? 0 : Math.abs(word.weight) / heaviest;
    if (share < MIN_SHARE) return [];
    const before = text.slice(end, word.start);
    end = word.end;
    const side = word.weight > 0 ? 'for' : 'against';
    const strength = `${Math.round(share * MAX_COLOUR)}%`;
    const title = `${word.weight > 0 ? '+' : '−'}${Math.abs(word.weight).toFixed(2)}`;
    return [
      html`${before}<mark class="${side}" style="--strength: ${strength}" title="${title}">${text.slice(word.start, end)}</mark>`,
    ];
  });
  return new Html(`${pieces.map((piece) => piece.text).join('')}${html`${text.slice(end)}`.text}`);
}

/** Problems in the dataset and the training that did not stop it. */
function warnings({ warnings: noticed }: TrainingRecord): Html | undefined {
  if (noticed.length === 0) return undefined;
  const items = noticed.map(({ message, examples }) => {
    const places = examples.map(({ file, line }) => `${file} line ${whole(line)}`).join(', ');
    return html`<li>${message}${places === '' ? '' : ` (${places})`}</li>`;
  });
  return html`<section><h2>Warnings</h2><ul>${items}</ul></section>`;
}

/** The hyperparameters, with defaults, and the versions of the software. */
function configuration({ hyperparameters, training_config, seed, versions }: TrainingRecord): Html {
  const given = Object.keys(training_config).map(asWords);
  return html`<section>
<h2>Configuration</h2>
${settings({ ...hyperparameters, seed })}
<p class="note">${given.length === 0 ? 'All of them are defaults.' : `Set in the request: ${given.join(', ')}. The others are defaults.`}</p>
${versions && html`<h3>Versions</h3>${settings(versions)}`}
</section>`;
}

function settings(values: Readonly<Record<string, string | number | boolean>>): Html {
  const rows = Object.entries(values).map(
    ([name, value]) => html`<tr><th scope="row">${asWords(name)}</th><td>${String(value)}</td></tr>`,
  );
  return html`<table><tbody>${rows}</tbody></table>`;
}
