import { scaleLinear } from 'd3-scale';
import type { TrainingStats } from '../contract/index.js';
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
  leftAxis,
  type Point,
} from './chart.js';
import { decimal } from './figures.js';
import { type Html, html, table } from './html.js';

/** Training loss and validation metrics of each epoch; undefined if no epoch was completed. */
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

/** The first epoch with the best main metric, from 1; undefined if there is no main metric. */
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
/** With more epochs, not each one gets a label. */
const MAX_EPOCH_LABELS = 12;

function curves(
  series: readonly Series[],
  best: number | undefined,
): Pick<Chart, 'width' | 'height' | 'drawing'> {
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

/** The names in one row above the plot, each after a dot in its colour. */
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
