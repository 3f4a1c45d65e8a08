import { writeFileSync } from 'node:fs';
import { type EChartsOption, init } from 'echarts';
import type { CurvePoint } from './student-checkpoint.js';

/** Writes the learning curve as `<path>.csv` and, drawn over the tokens read, `<path>.svg`. */
export function writeCurve(path: string, curve: readonly CurvePoint[]): void {
  writeFileSync(`${path}.csv`, csv(curve));
  writeFileSync(`${path}.svg`, svg(curve));
}

function csv(curve: readonly CurvePoint[]): string {
  const lines = curve.map(({ step, seconds, tokens, loss, sentence, spans }) =>
    [step, seconds.toFixed(0), tokens, loss.toFixed(5), sentence.toFixed(5), spans.toFixed(5)].join(),
  );
  return `${['step,seconds,tokens,training_loss,validation_passages,validation_spans', ...lines].join('\n')}\n`;
}

function svg(curve: readonly CurvePoint[]): string {
  const line = (name: string, value: (point: CurvePoint) => number) => ({
    name,
    type: 'line' as const,
    showSymbol: false,
    data: curve.map((point) => [point.tokens / 1e6, value(point)]),
  });
  const option: EChartsOption = {
    animation: false,
    backgroundColor: '#fff',
    legend: {},
    xAxis: { type: 'value', name: 'million tokens' },
    yAxis: { type: 'value', name: '1 − cosine' },
    series: [
      line('training', ({ loss }) => loss),
      line('validation, passages', ({ sentence }) => sentence),
      line('validation, spans', ({ spans }) => spans),
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
