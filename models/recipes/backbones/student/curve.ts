import { writeFileSync } from 'node:fs';
import { type EChartsOption, init } from 'echarts';
import type { CurvePoint } from './student-checkpoint.js';

/** Labels of a curve. */
export interface CurveLabels {
  /** What all measures have in common, for the axis. */
  readonly axis: string;
  /** Labels by the measures' names in the points. Default: each measure's own name. */
  readonly measures?: Readonly<Record<string, string>>;
}

/** Writes the learning curve as `<path>.csv` and, drawn over the tokens read, `<path>.svg`. */
export function writeCurve(path: string, curve: readonly CurvePoint[], labels: CurveLabels): void {
  writeFileSync(`${path}.csv`, csv(curve, labels));
  writeFileSync(`${path}.svg`, svg(curve, labels));
}

/** What a point holds besides its measures. */
const COMMON = ['step', 'seconds', 'tokens', 'loss'];

/** Each measure with its label; a curve may have gained measures on the way. */
function measuresOf(
  curve: readonly CurvePoint[],
  { measures }: CurveLabels,
): Readonly<Record<string, string>> {
  if (measures !== undefined) return measures;
  const names = new Set(curve.flatMap((point) => Object.keys(point)));
  return Object.fromEntries([...names].filter((name) => !COMMON.includes(name)).map((name) => [name, name]));
}

function csv(curve: readonly CurvePoint[], labels: CurveLabels): string {
  const measures = measuresOf(curve, labels);
  const columns = Object.values(measures).map((label) => `validation_${label.replaceAll(' ', '_')}`);
  const lines = curve.map((point) =>
    [
      point.step,
      point.seconds.toFixed(0),
      point.tokens,
      ...[point.loss, ...Object.keys(measures).map((name) => point[name] ?? Number.NaN)].map((loss) =>
        loss.toFixed(5),
      ),
    ].join(),
  );
  return `${[['step', 'seconds', 'tokens', 'training_loss', ...columns].join(), ...lines].join('\n')}\n`;
}

function svg(curve: readonly CurvePoint[], labels: CurveLabels): string {
  const measures = measuresOf(curve, labels);
  const line = (name: string, measure: string) => ({
    name,
    type: 'line' as const,
    showSymbol: false,
    data: curve.map((point) => [point.tokens / 1e6, point[measure] ?? Number.NaN]),
  });
  const option: EChartsOption = {
    animation: false,
    backgroundColor: '#fff',
    legend: { itemGap: 32 },
    xAxis: { type: 'value', name: 'million tokens', nameLocation: 'middle', nameGap: 28 },
    yAxis: { type: 'value', name: labels.axis },
    series: [
      line('training', 'loss'),
      ...Object.entries(measures).map(([measure, label]) => line(`validation, ${label}`, measure)),
    ],
  };
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 360 });
  try {
    chart.setOption(option);
    return chart.renderToSVGString();
  } finally {
    chart.dispose(); // else its timer keeps the process alive
  }
}
