import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import type { TrainingStats } from '../contract/index.js';
import type {
  Calibration,
  ClassFigures,
  Confusion,
  Mistake,
  ModelEvaluation,
  RecordedPart,
  TrainingRecord,
  WeighedWord,
} from '../models/index.js';
import {
  asWords,
  classNames,
  counted,
  decimal,
  f1Name,
  hasEpochs,
  judgedRows,
  macroF1,
  type NamedFigure,
  partsOf,
  percent,
  type ReportInput,
  rulesNote,
  scoresOf,
  whole,
} from './figures.js';
import { Html, html, htmlPage, table, tiles } from './html.js';

/** Lengths are in the drawing's units; y grows downwards. */

interface Chart {
  /** A narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  readonly drawing: readonly Html[];
  /** A description for readers who can't see it. */
  readonly alternative: string;
  readonly caption: string;
}

/** Colours of the page's stylesheet, which has a light and a dark mode. */
const colours = {
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  accent: 'var(--accent)',
  second: 'var(--second)',
} as const;

function figure({ width, height, drawing, alternative, caption }: Chart): Html {
  return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}"><svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
${drawing}
</svg></div>
<figcaption>${caption}</figcaption>
</figure>`;
}

type Point = readonly [x: number, y: number];

interface DrawnText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** The part of the text at x. Default `middle`. */
  readonly anchor?: 'start' | 'middle' | 'end';
  /** Default: the page's muted colour. */
  readonly colour?: string;
  readonly fontSize?: number;
  /** Whether the text runs upwards. Default false. */
  readonly upwards?: boolean;
}

/** The text's vertical middle is at y. */
function drawnText({ text, anchor = 'middle', ...look }: DrawnText): Html {
  const { colour = colours.muted, fontSize = 12, upwards = false } = look;
  const [x, y] = [rounded(look.x), rounded(look.y)];
  const turn = upwards ? html` transform="rotate(-90 ${x} ${y})"` : undefined;
  return html`<text x="${x}" y="${y}"${turn} text-anchor="${anchor}" dominant-baseline="central" fill="${colour}" font-size="${fontSize}">${text}</text>`;
}

interface Stroke {
  readonly colour: string;
  readonly width?: number;
  readonly isDashed?: boolean;
}

function drawnPath(path: string, { colour, width = 1, isDashed = false }: Stroke): Html {
  const dashes = isDashed ? html` stroke-dasharray="4 4"` : undefined;
  return html`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/>`;
}

function drawnLine([x1, y1]: Point, [x2, y2]: Point, stroke: Stroke): Html {
  return drawnPath(`M${rounded(x1)} ${rounded(y1)}L${rounded(x2)} ${rounded(y2)}`, stroke);
}

function dot([x, y]: Point, radius: number, colour: string): Html {
  return html`<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}" fill="${colour}"/>`;
}

/** Smaller differences are invisible. */
const rounded = (length: number): number => Math.round(100 * length) / 100;

const straight = line<Point>(
  ([x]) => x,
  ([, y]) => y,
).digits(2);

function curve(points: readonly Point[], colour: string): Html {
  return drawnPath(straight(points) ?? '', { colour, width: 2 });
}

interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Tick {
  readonly at: number;
  readonly text: string;
}

const LINE = { colour: colours.line };
const TICK_LENGTH = 5;

function bottomAxis({ left, right, bottom }: Area, ticks: readonly Tick[], name: string): readonly Html[] {
  return [
    drawnLine([left, bottom], [right, bottom], LINE),
    ...ticks.map(({ at }) => drawnLine([at, bottom], [at, bottom + TICK_LENGTH], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: at, y: bottom + 14 })),
    drawnText({ text: name, x: (left + right) / 2, y: bottom + 32 }),
  ];
}

/** Draws a line across the area at each tick. */
function leftAxis({ left, right, top, bottom }: Area, ticks: readonly Tick[], name?: string): readonly Html[] {
  const named = name === undefined ? [] : [{ text: name, x: left - 44, y: (top + bottom) / 2 }];
  return [
    ...ticks.map(({ at }) => drawnLine([left - TICK_LENGTH, at], [right, at], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: left - 8, y: at, anchor: 'end' })),
    ...named.map((text) => drawnText({ ...text, upwards: true })),
  ];
}

/** Undefined if no epoch was completed. */
function learningCurves(input: ReportInput): Html | undefined {
  const stats = input.training.training_stats;
  const { loss } = stats.metrics.training;
  if (loss.length === 0) return undefined;
  const validation = validationSeries(stats, f1Name(input));
  const best = bestEpoch(stats);
  return html`<section>
<h2>Learning curves</h2>
<div class="charts">
${figure(lossChart(loss))}
${validation.length === 0 ? undefined : figure(validationChart(validation, best))}
</div>
${epochTable(stats, validation, best)}
</section>`;
}

interface Series {
  readonly name: string;
  readonly values: readonly number[];
}

function validationSeries({ metrics: { validation } }: TrainingStats, nameOfF1: string): Series[] {
  const topk = validation.topk ?? [];
  return [
    { name: 'accuracy', values: validation.accuracy ?? [] },
    { name: nameOfF1, values: validation.f1 ?? [] },
    { name: 'top 1', values: topk.map((shares) => shares[1]) },
    { name: 'top 5', values: topk.map((shares) => shares[5]) },
    { name: 'top 20', values: topk.map((shares) => shares[20]) },
  ].filter(({ values }) => values.length > 0);
}

/** The first epoch is 1; undefined without a main metric. */
function bestEpoch({ main_eval_metric, metrics: { validation } }: TrainingStats): number | undefined {
  const values = main_eval_metric === undefined ? undefined : validation[main_eval_metric];
  return values === undefined || values.length === 0 ? undefined : 1 + values.indexOf(Math.max(...values));
}

function lossChart(loss: readonly number[]): Chart {
  return {
    ...curves([{ name: 'training loss', values: loss }], undefined),
    caption: 'Training loss, the mean over each epoch.',
    alternative: `Training loss goes from ${decimal(loss[0] ?? 0)} after epoch 1 to ${decimal(loss.at(-1) ?? 0)} after epoch ${loss.length}.`,
  };
}

function validationChart(series: readonly Series[], best: number | undefined): Chart {
  const said = series.map(({ name, values }) => `${name} ends at ${decimal(values.at(-1) ?? 0)}`).join(', ');
  const kept = best === undefined ? '' : ` Epoch ${best} was kept.`;
  return {
    ...curves(series, best),
    caption: `The encoder alone on the dev rows after each epoch.${kept}`,
    alternative: `On the dev rows, ${said}.${kept}`,
  };
}

const PALETTE = [colours.accent, colours.second, colours.muted];
const colourOf = (at: number): string => PALETTE[at % PALETTE.length] ?? colours.ink;
const WIDTH = 440;
const CURVES: Area = { left: 48, right: WIDTH - 24, top: 40, bottom: 216 };
/** With more epochs, only some get a label. */
const MAX_EPOCH_LABELS = 12;

function curves(series: readonly Series[], best: number | undefined): Pick<Chart, 'width' | 'height' | 'drawing'> {
  const epochs = series[0]?.values.map((_, at) => at + 1) ?? [];
  const values = series.flatMap((each) => each.values);
  // Half an epoch of space on both sides.
  const x = scaleLinear([0.5, epochs.length + 0.5], [CURVES.left, CURVES.right]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  // Without a range there would be no ticks.
  const y = scaleLinear([least < most ? least : 0.9 * most, most || 1], [CURVES.bottom, CURVES.top]).nice(5);
  const every = Math.ceil(epochs.length / MAX_EPOCH_LABELS);
  const labelled = epochs.filter((epoch) => (epoch - 1) % every === 0);
  const format = y.tickFormat(5);
  return {
    width: WIDTH,
    height: 260,
    drawing: [
      ...leftAxis(
        CURVES,
        y.ticks(5).map((value) => ({ at: y(value), text: format(value) })),
      ),
      ...bottomAxis(
        CURVES,
        labelled.map((epoch) => ({ at: x(epoch), text: String(epoch) })),
        'epoch',
      ),
      ...(best === undefined ? [] : bestMark(x(best), best)),
      ...series.flatMap(({ values }, at) => {
        const points = values.map((value, index): Point => [x(index + 1), y(value)]);
        return [curve(points, colourOf(at)), ...points.map((point) => dot(point, 2.5, colourOf(at)))];
      }),
      ...seriesLegend(series.map(({ name }) => name)),
    ],
  };
}

function bestMark(x: number, best: number): Html[] {
  return [
    drawnLine([x, CURVES.bottom], [x, CURVES.top], { colour: colours.muted, isDashed: true }),
    drawnText({ text: `best: ${best}`, x, y: CURVES.top - 9, colour: colours.ink }),
  ];
}

/** One row above the plot. */
function seriesLegend(names: readonly string[]): Html[] {
  const step = Math.min(120, WIDTH / Math.max(1, names.length));
  const left = (WIDTH - step * names.length) / 2;
  return names.flatMap((text, at) => [
    dot([left + at * step + 8, 10], 4, colourOf(at)),
    drawnText({ text: shortened(text), x: left + at * step + 18, y: 10, anchor: 'start', colour: colours.ink }),
  ]);
}

function epochTable(
  { metrics: { training } }: TrainingStats,
  validation: readonly Series[],
  best: number | undefined,
): Html {
  const rows = training.loss.map((loss, at) => [
    `${at + 1}${at + 1 === best ? ' (best)' : ''}`,
    decimal(loss),
    ...validation.map(({ values }) => decimal(values[at] ?? Number.NaN)),
  ]);
  const columns = ['Epoch', 'Training loss', ...validation.map(({ name }) => `Dev ${name}`)];
  return html`<details><summary>As a table</summary>${table(columns, rows)}</details>`;
}

/** A heat map of more labels would be unreadable; the table of pairs still works. */
const MAX_MAPPED_LABELS = 100;
/** Up to this number, each cell shows its count. */
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
  /** The share of the rows of the actual label. */
  readonly share: number;
}

/** Pairs of different labels, the most frequent first. */
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

/** Space around the plot, without names. */
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
      'Rows are the actual labels, columns the predicted ones. The stronger the colour of a cell, the larger its share of the row.',
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

/** The strongest leaves the count at a contrast above 4.5 : 1, in light and in dark mode. */
const opacityOf = scaleLinear([0, 1], [0.03, 0.55]);

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

/** The length of the longest name, roughly; a wide letter takes two thirds of the font size. */
const namesLength = (names: readonly string[], fontSize: number): number =>
  (2 / 3) * fontSize * Math.max(...names.map(({ length }) => length));

function pairTable(pairs: readonly ConfusedPair[]): Html {
  if (pairs.length === 0) return html`<p>All rows got the right label.</p>`;
  const listed = pairs.slice(0, MAX_PAIRS);
  const rows = listed.map(({ actual, predicted, count, share }) => [actual, predicted, whole(count), percent(share)]);
  return html`${table(['Actual label', { text: 'Predicted label' }, 'Rows', 'Share of the label’s rows'], rows)}
${listed.length === pairs.length ? undefined : html`<p class="note">${listed.length} of ${whole(pairs.length)} kinds of confusion.</p>`}`;
}

/** A reliability diagram (Guo et al. 2017). */
function calibrationPlot({ calibration }: ModelEvaluation): Html | undefined {
  if (calibration === undefined) return undefined;
  const rows = calibration.bins.map((bin) => [percent(bin.confidence), percent(bin.accuracy), whole(bin.rows)]);
  const columns = ['Confidence', 'Accuracy', 'Decisions'];
  return html`<section>
<h2>Calibration</h2>
<p>Expected calibration error ${decimal(calibration.error)}; ${decimal(calibration.error_before)} before the scores were calibrated.</p>
${figure(reliabilityDiagram(calibration))}
<details><summary>As a table</summary>${table(columns, rows, { hasRowHeadings: false })}</details>
</section>`;
}

const RELIABILITY: Area = { left: 60, right: WIDTH - 24, top: 16, bottom: 292 };

function reliabilityDiagram({ bins, error }: Calibration): Chart {
  const most = Math.max(1, ...bins.map(({ rows }) => rows));
  const x = scaleLinear([0, 1], [RELIABILITY.left, RELIABILITY.right]);
  const y = scaleLinear([0, 1], [RELIABILITY.bottom, RELIABILITY.top]);
  const ticks = (scale: typeof x) => scale.ticks(5).map((value) => ({ at: scale(value), text: String(value) }));
  const points = bins.map(({ confidence, accuracy }): Point => [x(confidence), y(accuracy)]);
  return {
    width: WIDTH,
    height: 340,
    caption:
      'On the dashed line, confidence equals accuracy. Below it the model is overconfident, above it underconfident. The larger a dot, the more decisions it shows.',
    alternative: `Reliability diagram with an expected calibration error of ${decimal(error)}.`,
    drawing: [
      ...leftAxis(RELIABILITY, ticks(y), 'accuracy'),
      ...bottomAxis(RELIABILITY, ticks(x), 'confidence'),
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
${parts(report)}
${hasEpochs(training) ? learningCurves(report) : undefined}
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
<p class="note">Intervals come from resampling the rows: in 95 of 100 samples, the figure lies within them.
If all samples give 0, or all give 1, they are Wilson intervals, which depend on the number of rows.</p>
</section>
${classTable(page)}
${confusionMatrix(page)}
${mistakes(page)}
</main>`,
  );
}

function overview(input: ReportInput): Html {
  const { id, created, config, training, evaluation } = input;
  const { name, family, type, size } = training.model_config;
  const made = [created && `created ${created}`, id && `id ${id}`].filter(Boolean).join(', ');
  const { dataset } = training;
  const judged = judgedRows({ training, ...(evaluation && { evaluation }) });
  const mrr = evaluation?.retrieval?.mrr;
  const best = partsOf(training).at(-1);
  const rules = rulesNote(config, training);
  const classes = classNames(config);
  const scores = best === undefined ? [] : [...scoresOf(best.figures, f1Name(input)), ...macroF1(input)];
  const figures: NamedFigure[] = scores.map((score) => ({ ...score, name: `${judged.name} ${score.name}` }));
  if (mrr !== undefined) figures.push({ name: `${judged.name} MRR`, value: decimal(mrr) });
  if (dataset !== undefined) figures.push({ name: 'training rows', value: whole(dataset.train_rows) });
  if (judged.rows !== undefined) figures.push({ name: `${judged.name} rows`, value: whole(judged.rows) });
  if (classes.names.length > 0) {
    figures.push({ name: `${classes.noun}s`, value: whole(classes.names.length) });
  }
  if (hasEpochs(training)) figures.push({ name: 'epochs', value: whole(training.training_stats.epoch) });
  return html`<header>
<h1>${name}</h1>
<p>${family} ${size}, ${type}</p>
${made === '' ? undefined : html`<p class="note">${made}</p>`}
${tiles(figures)}
${rules === undefined ? undefined : html`<p class="note">${rules}</p>`}
</header>`;
}

/** Undefined if the training recorded none. */
function parts(input: ReportInput): Html | undefined {
  const { training } = input;
  const measured = partsOf(training);
  const [first] = measured;
  if (first === undefined) return undefined;
  const isCalibrated = measured.some(({ figures }) => figures.calibration_error !== undefined);
  const found = input.evaluation?.calibration;
  // The blend's figures are those of the section on calibration, which looks at the scores that answers have.
  const ofAnswers = found && { before: found.error_before, after: found.error };
  const rows = measured.map(({ name, figures }, at) => {
    const { calibration_error: error } = figures;
    const calibration = errorShown(at === measured.length - 1 ? (ofAnswers ?? error) : error);
    const scores = scoresOf(figures, f1Name(input)).map(({ value }) => value);
    return [name, ...scores, ...(isCalibrated ? [calibration] : [])];
  });
  const columns = scoresOf(first.figures, f1Name(input)).map(({ name }) => name);
  return html`<section>
<h2>Figures of each part</h2>
${table(['Part', ...columns, ...(isCalibrated ? ['calibration error'] : [])], rows)}
<p class="note">${judgedRows({ training }).note}${isCalibrated ? ' The calibration error is 0 if answers with a score of 0.8 are right 8 times out of 10, and so on for every score.' : ''}</p>
</section>`;
}

const errorShown = (error: RecordedPart['calibration_error']): string | undefined =>
  error && `${decimal(error.after)} (was ${decimal(error.before)})`;

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
${folded.length === 0 ? undefined : html`<details><summary>${whole(folded.length)} more, with the highest F1</summary>${table(columns, folded)}</details>`}
<p class="note">The lowest F1 first. Precision: the share of the predictions of a class that are right. Recall: the share of a class that is found.
Support: how often the class occurs in these rows.</p>
</section>`;
}

/** Often the label in the dataset is wrong. */
function mistakes({ mistakes: listed }: Pick<ModelEvaluation | EvaluationPage, 'mistakes'>): Html {
  if (listed.length === 0) return html`<section><h2>Mistakes</h2><p>None on these rows.</p></section>`;
  const hasWords = listed.some(({ words }) => words !== undefined);
  const arePairs = listed.some(({ text2 }) => text2 !== undefined);
  const rows = listed.map(({ text, text2 = '', expected, predicted, score, words }) => [
    coloured(text, words),
    ...(arePairs ? [text2] : []),
    expected.join(', ') || '–',
    predicted.join(', ') || '–',
    decimal(score),
  ]);
  const second = arePairs ? [{ text: 'Second text' }] : [];
  const columns = [{ text: 'Text' }, ...second, { text: 'Expected' }, { text: 'Predicted' }, 'Score'];
  return html`<section>
<h2>The most confident mistakes</h2>
${table(columns, rows, { className: 'texts', hasRowHeadings: false })}
<p class="note">${counted(listed.length, 'mistake')}. Where the model is confident but wrong, check the label of the row first.${hasWords ? markNote : undefined}</p>
</section>`;
}

const markNote = html` In the first texts, the words that count <mark class="for" style="--strength: 45%">towards</mark> the prediction
or <mark class="against" style="--strength: 45%">against</mark> it are marked; the fainter the mark, the smaller the effect.`;

/** Words with a smaller share of the heaviest weight stay uncoloured. */
const MIN_SHARE = 0.15;
/** Percent of colour, so that the heaviest word can still be read. */
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
<p class="note">${given.length === 0 ? 'All values are defaults.' : `Set in the request: ${given.join(', ')}. The others are defaults.`}</p>
${versions && html`<h3>Versions</h3>${settings(versions)}`}
</section>`;
}

function settings(values: Readonly<Record<string, string | number | boolean>>): Html {
  const rows = Object.entries(values).map(
    ([name, value]) => html`<tr><th scope="row">${asWords(name)}</th><td>${String(value)}</td></tr>`,
  );
  return html`<table><tbody>${rows}</tbody></table>`;
}
