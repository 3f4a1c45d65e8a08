import type { TrainingStats } from '../../contract/index.js';
import { axisStyle, type Chart, colours, type DrawChart } from '../chart.js';
import { decimal } from '../figures.js';
import { type Html, html } from '../html.js';

/** Training loss and validation metrics, epoch by epoch; undefined if no epoch was completed. */
export function learningCurves(stats: TrainingStats, draw: DrawChart): Html | undefined {
  const { loss } = stats.metrics.training;
  if (loss.length === 0) return undefined;
  const validation = validationSeries(stats);
  const best = bestEpoch(stats);
  return html`<section>
<h2>Learning curves</h2>
<div class="charts">
${draw(lossChart(loss))}
${validation.length === 0 ? undefined : draw(validationChart(validation, best))}
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

/** The first epoch with the best main metric, 1-based; undefined if there is no main metric. */
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

const palette = [colours.accent, colours.second, colours.muted];

function curves(
  series: readonly Series[],
  best: number | undefined,
): Pick<Chart, 'width' | 'height' | 'option'> {
  const epochs = series[0]?.values.map((_, at) => String(at + 1)) ?? [];
  const mark = {
    silent: true,
    symbol: 'none',
    lineStyle: { color: colours.muted, type: 'dashed' as const },
    label: { color: colours.ink, formatter: `best: ${best}` },
    data: [{ xAxis: (best ?? 1) - 1 }],
  };
  return {
    width: 440,
    height: 260,
    option: {
      grid: { left: 48, right: 24, top: 40, bottom: 44 },
      legend: { top: 0, textStyle: { color: colours.ink } },
      xAxis: {
        type: 'category',
        data: epochs,
        name: 'epoch',
        nameLocation: 'middle',
        nameGap: 28,
        ...axisStyle,
      },
      yAxis: { type: 'value', scale: true, ...axisStyle },
      series: series.map(({ name, values }, at) => ({
        type: 'line' as const,
        name,
        data: [...values],
        silent: true,
        symbolSize: 5,
        color: palette[at % palette.length] ?? colours.ink,
        ...(at === 0 && best !== undefined && { markLine: mark }),
      })),
    },
  };
}

function epochTable(
  { metrics: { training } }: TrainingStats,
  validation: readonly Series[],
  best: number | undefined,
): Html {
  const rows = training.loss.map(
    (
      loss,
      at,
    ) => html`<tr><th scope="row">${at + 1}${at + 1 === best ? ' (best)' : ''}</th><td>${decimal(loss)}</td>
${validation.map(({ values }) => html`<td>${decimal(values[at] ?? Number.NaN)}</td>`)}</tr>`,
  );
  return html`<details><summary>As a table</summary>
<table><thead><tr><th scope="col">Epoch</th><th scope="col">Training loss</th>
${validation.map(({ name }) => html`<th scope="col">Dev ${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></details>`;
}
