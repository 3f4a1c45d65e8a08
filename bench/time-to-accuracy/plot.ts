import { type EChartsOption, init } from 'echarts';
import type { Result } from './results.js';
import { datasetsOf } from './tables.js';

const WIDTH = 860;
const PANEL = 300;
const TOP = 60;

/** Accuracy over processor seconds on a logarithmic axis, one panel a dataset, one colour a library. @returns an SVG. */
export function plot(results: readonly Result[]): string {
  const datasets = datasetsOf(results);
  const libraries = [...new Set(results.map(libraryOf))];
  const panel = (at: number) => ({ xAxisIndex: at, yAxisIndex: at });
  const option: EChartsOption = {
    animation: false,
    backgroundColor: '#fff',
    title: datasets.map((dataset, at) => ({
      text: dataset,
      left: 60,
      top: TOP - 30 + at * PANEL,
      textStyle: { fontSize: 14 },
    })),
    legend: { top: 0, data: libraries },
    grid: datasets.map((_, at) => ({ left: 60, right: 160, top: TOP + at * PANEL, height: PANEL - 100 })),
    xAxis: datasets.map((_, at) => ({
      gridIndex: at,
      type: 'log',
      name: 'processor seconds',
      nameLocation: 'middle',
      nameGap: 26,
    })),
    yAxis: datasets.map((_, at) => ({ gridIndex: at, type: 'value', scale: true, name: 'accuracy' })),
    series: datasets.flatMap((dataset, at) =>
      libraries.map((library) => ({
        type: 'scatter',
        name: library,
        ...panel(at),
        symbolSize: 10,
        label: { show: true, position: 'right', formatter: '{@[2]}', fontSize: 11 },
        data: results
          .filter((each) => each.dataset === dataset && libraryOf(each) === library)
          .map((each) => [each.processorSeconds, each.accuracy, weightsOf(each)]),
      })),
    ),
  };
  const canvas = init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: TOP + PANEL * datasets.length,
  });
  try {
    canvas.setOption(option);
    return canvas.renderToSVGString();
  } finally {
    canvas.dispose(); // otherwise its timer keeps the process alive
  }
}

const libraryOf = ({ contestant }: Result): string => contestant.split(', ')[0] ?? contestant;
const weightsOf = ({ contestant }: Result): string => contestant.split(', ').slice(1).join(', ');
