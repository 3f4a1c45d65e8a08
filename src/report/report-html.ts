import { scaleLinear } from 'd3-scale';
import type {
  Calibration,
  ClassFigures,
  Confusion,
  Mistake,
  ModelEvaluation,
  TrainingRecord,
  WeighedWord,
} from '../models/index.js';
import {
  type Area,
  bottomAxis,
  type Chart,
  colours,
  curve,
  dot,
  drawnLine,
  drawnText,
  figure,
  learningCurves,
  leftAxis,
  type Point,
  rounded,
} from './charts.js';
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

/** More would be unreadable; the table of pairs still works. */
const MAX_MAPPED_LABELS = 100;
/** Each cell then shows its count. */
const MAX_COUNTED_LABELS = 20;
const MAX_PAIRS = 20;

function confusionMatrix({ confusion }: { readonly confusion?: Confusion }): Html | undefined {
  if (confusion === undefined) return undefined;
  const { labels } = confusion;
  return html`<section>
<h2>Confusions</h2>
${labels.length <= MAX_MAPPED_LABELS ? figure(heatMap(confusion)) : undefined}
${pairTable(confusedPairs(confusion))}
</section>`;
}

interface ConfusedPair {
  readonly actual: string;
  readonly predicted: string;
  readonly count: number;
  /** Of the rows of the actual label. */
  readonly share: number;
}

/** Of different labels, the most frequent first. */
function confusedPairs({ labels, counts }: Confusion): ConfusedPair[] {
  const pairs = counts.flatMap((row, actual) => {
    const total = sum(row);
    return row.map((count, predicted) => ({
      actual: labels[actual] ?? '',
      predicted: labels[predicted] ?? '',
      count: actual === predicted ? 0 : count,
      share: count / Math.max(1, total),
    }));
  });
  return pairs.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count || b.share - a.share);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Around the plot, without names. */
const PADDING = 10;

/** Rows are actual labels, columns predicted ones; the shade is the share of the row. */
function heatMap({ labels, counts }: Confusion): Chart {
  const counted = labels.length <= MAX_COUNTED_LABELS;
  const side = Math.min(680, Math.max(200, 52 * labels.length));
  const names = labels.map(shortened);
  const fontSize = counted ? 12 : 8;
  const margin = namesLength(names, fontSize) + 40;
  const right = sum(counts.map((row, at) => row[at] ?? 0));
  const total = sum(counts.map(sum));
  return {
    width: side + margin + PADDING,
    height: side + margin + PADDING,
    caption:
      'Rows are the actual labels, columns the predicted ones. The darker a cell, the larger its share of the row.',
    alternative: `Confusion matrix of ${labels.length} labels: ${whole(right)} of ${whole(total)} rows are on its diagonal. The table below lists the most frequent confusions.`,
    drawing: [
      ...cells(counts, counted, { side, margin, fontSize }),
      ...axisNames(names, { side, margin, fontSize }),
      drawnText({ text: 'predicted', x: margin + side / 2, y: PADDING + side + margin - 10 }),
      drawnText({ text: 'actual', x: 12, y: PADDING + side / 2, upwards: true }),
    ],
  };
}

interface Layout {
  readonly side: number;
  readonly margin: number;
  readonly fontSize: number;
}

function axisNames(names: readonly string[], { side, margin, fontSize }: Layout): Html[] {
  const gap = 8;
  return names.flatMap((text, at) => {
    const middle = ((at + 0.5) * side) / names.length;
    const look = { text, anchor: 'end', fontSize } as const;
    return [
      drawnText({ ...look, x: margin - gap, y: PADDING + middle }),
      drawnText({ ...look, x: margin + middle, y: PADDING + side + gap, upwards: true }),
    ];
  });
}

const opacityOf = scaleLinear([0, 1], [0.03, 0.85]);

/** Empty cells are drawn only if the counts are shown. */
function cells(counts: Confusion['counts'], counted: boolean, { side, margin }: Layout): Html[] {
  const width = side / counts.length;
  const border = counted ? html` stroke="${colours.line}"` : undefined;
  return counts.flatMap((row, actual) => {
    const total = Math.max(1, sum(row));
    return row.flatMap((count, predicted) => {
      if (count === 0 && !counted) return [];
      const [x, y] = [margin + predicted * width, PADDING + actual * width];
      const shade = rounded(opacityOf(count / total));
      const cell = html`<rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(width)}" fill="${colours.accent}" fill-opacity="${shade}"${border}/>`;
      if (!counted) return [cell];
      const middle = { x: x + width / 2, y: y + width / 2 };
      return [cell, drawnText({ text: String(count), ...middle, colour: colours.ink })];
    });
  });
}

const MAX_NAME_CHARACTERS = 26;
const shortened = (label: string): string => {
  const characters = [...label];
  if (characters.length <= MAX_NAME_CHARACTERS) return label;
  return `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join('')}…`;
};

/** Of the longest, roughly; a wide letter takes two thirds of the font size. */
const namesLength = (names: readonly string[], fontSize: number): number =>
  (2 / 3) * fontSize * Math.max(...names.map(({ length }) => length));

function pairTable(pairs: readonly ConfusedPair[]): Html {
  if (pairs.length === 0) return html`<p>No row got a wrong label.</p>`;
  const listed = pairs.slice(0, MAX_PAIRS);
  const rows = listed.map(({ actual, predicted, count, share }) => [actual, predicted, whole(count), percent(share)]);
  return html`${table(['Is', { text: 'Taken for' }, 'Rows', 'Of its rows'], rows)}
${listed.length === pairs.length ? undefined : html`<p class="note">${listed.length} of ${whole(pairs.length)} kinds of confusion.</p>`}`;
}

/** A reliability diagram (Guo et al. 2017). */
function calibrationPlot({ calibration }: ModelEvaluation): Html | undefined {
  if (calibration === undefined) return undefined;
  const rows = calibration.bins.map((bin) => [percent(bin.confidence), percent(bin.accuracy), whole(bin.rows)]);
  const columns = ['How sure', 'How often right', 'Decisions'];
  return html`<section>
<h2>Calibration</h2>
<p>Expected calibration error ${decimal(calibration.error)}; ${decimal(calibration.error_before)} before the scores were calibrated.</p>
${figure(reliabilityDiagram(calibration))}
<details><summary>As a table</summary>${table(columns, rows, { hasRowHeadings: false })}</details>
</section>`;
}

const WIDTH = 440;
const HEIGHT = 340;
const AREA: Area = { left: 60, right: WIDTH - 24, top: 16, bottom: HEIGHT - 48 };

function reliabilityDiagram({ bins, error }: Calibration): Chart {
  const most = Math.max(1, ...bins.map(({ rows }) => rows));
  const x = scaleLinear([0, 1], [AREA.left, AREA.right]);
  const y = scaleLinear([0, 1], [AREA.bottom, AREA.top]);
  const ticks = (scale: typeof x) => scale.ticks(5).map((value) => ({ at: scale(value), text: String(value) }));
  const points = bins.map(({ confidence, accuracy }): Point => [x(confidence), y(accuracy)]);
  return {
    width: WIDTH,
    height: HEIGHT,
    caption:
      'On the dashed line, confidence equals accuracy. Below it the model is overconfident, above it underconfident. Large dots are many decisions.',
    alternative: `Reliability diagram with an expected calibration error of ${decimal(error)}.`,
    drawing: [
      ...leftAxis(AREA, ticks(y), 'how often right'),
      ...bottomAxis(AREA, ticks(x), 'how sure'),
      drawnLine([x(0), y(0)], [x(1), y(1)], { colour: colours.muted, isDashed: true }),
      curve(points, colours.accent),
      ...bins.map(({ rows }, at) => dot(points[at] ?? [0, 0], radiusOf(rows / most), colours.accent)),
    ],
  };
}

/** Beyond the smallest dot, the area is roughly in proportion to the share. */
const radiusOf = (share: number): number => 2.5 + 6.5 * Math.sqrt(share);

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

interface EvaluationPage {
  readonly title: string;
  /** "1,000 rows". */
  readonly note: string;
  readonly tiles: readonly NamedFigure[];
  /** 95 %. */
  readonly intervals: readonly { readonly name: string; readonly value: string; readonly interval: string }[];
  readonly classes?: readonly ClassFigures[];
  readonly confusion?: Confusion;
  readonly mistakes: readonly Mistake[];
}

/** About rows that the user brought. */
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

/** Undefined if the training recorded none. */
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

/** More classes are folded away, the best ones first. */
const MAX_UNFOLDED = 30;

/** The worst F1 first. */
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

/** Often the label in the dataset is wrong. */
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

/** Of the heaviest weight; lighter words stay uncoloured. */
const MIN_SHARE = 0.15;
/** In percent, so that the heaviest word can still be read. */
const MAX_COLOUR = 45;

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

function warnings({ warnings: noticed }: TrainingRecord): Html | undefined {
  if (noticed.length === 0) return undefined;
  const items = noticed.map(({ message, examples }) => {
    const places = examples.map(({ file, line }) => `${file} line ${whole(line)}`).join(', ');
    return html`<li>${message}${places === '' ? '' : ` (${places})`}</li>`;
  });
  return html`<section><h2>Warnings</h2><ul>${items}</ul></section>`;
}

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
