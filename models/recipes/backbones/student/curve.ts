import { writeFileSync } from 'node:fs';
import { type EChartsOption, init } from 'echarts';
import type { CurvePoint } from './student-checkpoint.js';

/** Writes the learning curve as `<path>.csv` and, drawn over the tokens read, `<path>.svg`. */
export function writeCurve(path: string, curve: readonly CurvePoint[]): void {
  writeFileSync(`${path}.csv`, csv(curve));
  writeFileSync(`${path}.svg`, svg(curve));
}

/** What a point holds besides its measures. */
const COMMON = ['step', 'seconds', 'tokens', 'loss'];

/** The names of all measures; a curve may have gained some on the way. */
function measuresOf(curve: readonly CurvePoint[]): string[] {
  const names = new Set(curve.flatMap((point) => Object.keys(point)));
  return [...names].filter((name) => !COMMON.includes(name));
}

function csv(curve: readonly CurvePoint[]): string {
  const measures = measuresOf(curve);
  const columns = measures.map((name) => `validation_${name.replaceAll(' ', '_')}`);
  const lines = curve.map((point) =>
    [
      point.step,
      point.seconds.toFixed(0),
      point.tokens,
      ...[point.loss, ...measures.map((name) => point[name] ?? Number.NaN)].map((loss) => loss.toFixed(5)),
    ].join(),
  );
  return `${[['step', 'seconds', 'tokens', 'training_loss', ...columns].join(), ...lines].join('\n')}\n`;
}

function svg(curve: readonly CurvePoint[]): string {
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
    yAxis: { type: 'value', name: '1 − cosine' },
    series: [line('training', 'loss'), ...measuresOf(curve).map((name) => line(`validation, ${name}`, name))],
  };
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 360 });
  try {
    chart.setOption(option);
    return chart.renderToSVGString();
  } finally {
    chart.dispose(); // else its timer keeps the process alive
  }
}
