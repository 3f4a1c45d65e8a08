import uPlot from 'uplot';
import type { JobProgress } from '../schemas.js';
import { byId, element } from './elements.js';
import type { Job } from './service.js';

/** The curves of the watched job, and the same figures as a table. */
export class JobCharts {
  readonly #loss = new CurveChart(byId('loss-chart', HTMLElement));
  readonly #metrics = new CurveChart(byId('metric-chart', HTMLElement));

  show(job: Job, progress: JobProgress | undefined): void {
    const figures = jobFigures(job);
    const lastEpoch = job.status === 'RUNNING' ? (progress?.epochs ?? 0) : figures.epochs.length;
    const live = liveLoss(figures, progress);
    this.#loss.show(live.epochs, [{ name: 'loss', values: live.loss }], Math.max(lastEpoch, figures.epochs.length));
    this.#metrics.show(figures.epochs, figures.metrics, Math.max(lastEpoch, figures.epochs.length));
    byId('loss-now', HTMLElement).textContent = live.loss.at(-1)?.toFixed(3) ?? '';
    byId('metric-legend', HTMLElement).replaceChildren(...legend(figures));
    byId('metric-figure', HTMLElement).hidden = figures.metrics.length === 0;
    byId('loss-figure', HTMLElement).hidden = live.loss.length === 0;
    showTable(figures);
  }
}

/** The line, name and latest value of each curve. */
function legend({ metrics }: JobFigures): HTMLElement[] {
  return metrics.map(({ name, values }, at) => {
    const line = element('span', { className: `line line-${at}`, ariaHidden: 'true' });
    return element('span', { className: 'entry' }, line, ` ${name} ${values.at(-1)?.toFixed(3) ?? ''}`);
  });
}

function showTable({ epochs, loss, metrics }: JobFigures): void {
  byId('figures', HTMLElement).hidden = epochs.length === 0;
  const names = ['Epoch', 'Training loss', ...metrics.map(({ name }) => name)];
  const head = names.map((name) => element('th', { scope: 'col' }, name));
  byId('figures-head', HTMLElement).replaceChildren(element('tr', {}, ...head));
  const rows = epochs.map((epoch, at) => {
    const cells = [loss[at], ...metrics.map(({ values }) => values[at])].map((value) =>
      element('td', { className: 'number' }, value?.toFixed(4) ?? ''),
    );
    return element('tr', {}, element('th', { scope: 'row' }, String(epoch)), ...cells);
  });
  byId('figures-rows', HTMLElement).replaceChildren(...rows);
}

/** The curves of a job: training loss, and metrics on the dev set. */
interface JobFigures {
  /** Epochs completed: 1, 2, … */
  readonly epochs: readonly number[];
  readonly loss: readonly number[];
  readonly metrics: readonly Curve[];
}

/** The ranks shown, of the six in `topk`. */
const shownRanks = ['1', '10'] as const;

export function jobFigures({ training_stats: { metrics } }: Job): JobFigures {
  const { accuracy, f1, topk } = metrics.validation;
  const { loss } = metrics.training;
  return {
    epochs: loss.map((_, at) => at + 1),
    loss,
    metrics: [
      ...(accuracy ? [{ name: 'accuracy', values: accuracy }] : []),
      ...(f1 ? [{ name: 'F1', values: f1 }] : []),
      ...(topk ? shownRanks.map((rank) => ({ name: `top ${rank}`, values: topk.map((each) => each[rank]) })) : []),
    ],
  };
}

/** The loss curve with the current epoch at its end: the mean loss so far. */
function liveLoss(
  { epochs, loss }: JobFigures,
  progress: JobProgress | undefined,
): { readonly epochs: readonly number[]; readonly loss: readonly number[] } {
  if (progress?.loss === undefined || progress.steps === 0) return { epochs, loss };
  const now = (progress.step / progress.steps) * progress.epochs;
  const last = epochs.at(-1) ?? 0;
  return now > last ? { epochs: [...epochs, now], loss: [...loss, progress.loss] } : { epochs, loss };
}

/** One curve of a chart; `values[i]` belongs to the i-th x. */
interface Curve {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

const HEIGHT = 200;
/** Curves differ by colour and by dash, in CSS pixels. */
const dashes = [[], [6, 4], [2, 3]];
const colours = ['--accent', '--second', '--muted'];
/** Steps between the marks of whole epochs. */
const epochSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Curves over epochs. Fits its place, and takes its colours from the stylesheet. */
class CurveChart {
  readonly #place: HTMLElement;
  #plot: uPlot | undefined;
  #names = '';
  #lastEpoch = 1;

  constructor(place: HTMLElement) {
    this.#place = place;
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', () => this.#plot?.redraw());
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(place);
  }

  /** @param lastEpoch where the x axis ends */
  show(epochs: readonly number[], curves: readonly Curve[], lastEpoch: number): void {
    this.#lastEpoch = Math.max(lastEpoch, 2);
    const names = curves.map(({ name }) => name).join();
    if (names !== this.#names) this.#plot = this.#remade(curves);
    this.#names = names;
    this.#plot?.setData([[...epochs], ...curves.map(({ values }) => [...values])]);
  }

  #remade(curves: readonly Curve[]): uPlot {
    this.#plot?.destroy();
    const series = curves.map(({ name }, at) => ({
      label: name,
      stroke: () => colour(colours[at % colours.length]),
      width: 2,
      dash: dashes[at % dashes.length] ?? [],
      points: { show: true, size: 5, fill: () => colour('--paper') },
    }));
    const axis = {
      stroke: () => colour('--muted'),
      grid: { stroke: () => colour('--line'), width: 1 },
      ticks: { stroke: () => colour('--line'), width: 1 },
    };
    return new uPlot(
      {
        ...this.#size(),
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: () => [0, this.#lastEpoch] }, y: { range: fromZero } },
        axes: [
          { ...axis, incrs: epochSteps, label: 'epoch', labelSize: 20, size: 36 },
          { ...axis, size: 48 },
        ],
        series: [{ label: 'epoch' }, ...series],
      },
      [[], ...curves.map(() => [])],
      this.#place,
    );
  }

  #size(): { width: number; height: number } {
    return { width: Math.max(this.#place.clientWidth, 200), height: HEIGHT };
  }
}

/** Losses and metrics are at least 0. The largest is null without values. */
function fromZero(_: uPlot, __: number, largest: number | null): [number, number] {
  return [0, (largest || 1) * 1.1];
}

function colour(variable = '--ink'): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable);
}
