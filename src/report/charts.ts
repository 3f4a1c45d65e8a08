import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import type { TrainingStats } from '../contract/index.js';
import { decimal } from './figures.js';
import { type Html, html, table } from './html.js';

/** Lengths are in the drawing's units; y grows downwards. */

export interface Chart {
  /** A narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  readonly drawing: readonly Html[];
  /** For readers who can't see it. */
  readonly alternative: string;
  readonly caption: string;
}

/** Of the page's stylesheet, for its light and dark mode. */
export const colours = {
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  accent: 'var(--accent)',
  second: 'var(--second)',
} as const;

export function figure({ width, height, drawing, alternative, caption }: Chart): Html {
  return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}"><svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
${drawing}
</svg></div>
<figcaption>${caption}</figcaption>
</figure>`;
}

export type Point = readonly [x: number, y: number];

interface DrawnText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** The part of the text at x. Default `middle`. */
  readonly anchor?: 'start' | 'middle' | 'end';
  /** Default: the page's muted colour. */
  readonly colour?: string;
  readonly fontSize?: number;
  /** Runs upwards. Default false. */
  readonly upwards?: boolean;
}

/** Its vertical middle is at y. */
export function drawnText({ text, anchor = 'middle', ...look }: DrawnText): Html {
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

export function drawnLine([x1, y1]: Point, [x2, y2]: Point, stroke: Stroke): Html {
  return drawnPath(`M${rounded(x1)} ${rounded(y1)}L${rounded(x2)} ${rounded(y2)}`, stroke);
}

export function dot([x, y]: Point, radius: number, colour: string): Html {
  return html`<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}" fill="${colour}"/>`;
}

/** Smaller differences are invisible. */
export const rounded = (length: number): number => Math.round(100 * length) / 100;

const straight = line<Point>(
  ([x]) => x,
  ([, y]) => y,
).digits(2);

export function curve(points: readonly Point[], colour: string): Html {
  return drawnPath(straight(points) ?? '', { colour, width: 2 });
}

export interface Area {
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

export function bottomAxis({ left, right, bottom }: Area, ticks: readonly Tick[], name: string): readonly Html[] {
  return [
    drawnLine([left, bottom], [right, bottom], LINE),
    ...ticks.map(({ at }) => drawnLine([at, bottom], [at, bottom + TICK_LENGTH], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: at, y: bottom + 14 })),
    drawnText({ text: name, x: (left + right) / 2, y: bottom + 32 }),
  ];
}

/** With a line across the area at each tick. */
export function leftAxis({ left, right, top, bottom }: Area, ticks: readonly Tick[], name?: string): readonly Html[] {
  const named = name === undefined ? [] : [{ text: name, x: left - 44, y: (top + bottom) / 2 }];
  return [
    ...ticks.map(({ at }) => drawnLine([left - TICK_LENGTH, at], [right, at], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: left - 8, y: at, anchor: 'end' })),
    ...named.map((text) => drawnText({ ...text, upwards: true })),
  ];
}

/** Undefined if no epoch was completed. */
export function learningCurves(stats: TrainingStats): Html | undefined {
  const { loss } = stats.metrics.training;
  if (loss.length === 0) return undefined;
  const validation = validationSeries(stats);
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

function validationSeries({ metrics: { validation } }: TrainingStats): Series[] {
  const topk = validation.topk ?? [];
  return [
    { name: 'accuracy', values: validation.accuracy ?? [] },
    { name: 'F1', values: validation.f1 ?? [] },
    { name: 'top 1', values: topk.map((shares) => shares[1]) },
    { name: 'top 5', values: topk.map((shares) => shares[5]) },
    { name: 'top 20', values: topk.map((shares) => shares[20]) },
  ].filter(({ values }) => values.length > 0);
}

/** From 1; undefined without a main metric. */
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
const HEIGHT = 260;
const AREA: Area = { left: 48, right: WIDTH - 24, top: 40, bottom: HEIGHT - 44 };
/** With more epochs, only some get a label. */
const MAX_EPOCH_LABELS = 12;

function curves(series: readonly Series[], best: number | undefined): Pick<Chart, 'width' | 'height' | 'drawing'> {
  const epochs = series[0]?.values.map((_, at) => at + 1) ?? [];
  const values = series.flatMap((each) => each.values);
  // Half an epoch of space on both sides.
  const x = scaleLinear([0.5, epochs.length + 0.5], [AREA.left, AREA.right]);
  const y = scaleLinear([Math.min(...values), Math.max(...values)], [AREA.bottom, AREA.top]).nice(5);
  const every = Math.ceil(epochs.length / MAX_EPOCH_LABELS);
  const labelled = epochs.filter((epoch) => (epoch - 1) % every === 0);
  const format = y.tickFormat(5);
  return {
    width: WIDTH,
    height: HEIGHT,
    drawing: [
      ...leftAxis(
        AREA,
        y.ticks(5).map((value) => ({ at: y(value), text: format(value) })),
      ),
      ...bottomAxis(
        AREA,
        labelled.map((epoch) => ({ at: x(epoch), text: String(epoch) })),
        'epoch',
      ),
      ...(best === undefined ? [] : bestMark(x(best), best)),
      ...series.flatMap(({ values }, at) => {
        const points = values.map((value, index): Point => [x(index + 1), y(value)]);
        return [curve(points, colourOf(at)), ...points.map((point) => dot(point, 2.5, colourOf(at)))];
      }),
      ...legend(series.map(({ name }) => name)),
    ],
  };
}

function bestMark(x: number, best: number): Html[] {
  return [
    drawnLine([x, AREA.bottom], [x, AREA.top], { colour: colours.muted, isDashed: true }),
    drawnText({ text: `best: ${best}`, x, y: AREA.top - 9, colour: colours.ink }),
  ];
}

/** In one row above the plot. */
function legend(names: readonly string[]): Html[] {
  const step = Math.min(120, WIDTH / Math.max(1, names.length));
  const left = (WIDTH - step * names.length) / 2;
  return names.flatMap((text, at) => [
    dot([left + at * step + 8, 10], 4, colourOf(at)),
    drawnText({ text, x: left + at * step + 18, y: 10, anchor: 'start', colour: colours.ink }),
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
