import uPlot from 'uplot';

/** One curve of a chart; `values[i]` belongs to the i-th x. */
export interface Curve {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

const HEIGHT = 200;
/** Curves differ by colour and by dash, which needs no colour to see. In CSS pixels. */
const dashes = [[], [6, 4], [2, 3]];
const colours = ['--accent', '--second', '--muted'];
/** Steps between the marks of whole epochs. */
const epochSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Curves over epochs that can grow. Sizes itself to its place, and takes its colours from the stylesheet. */
export class CurveChart {
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

  /** @param lastEpoch where the x axis ends, however few epochs there are yet. */
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

/** No loss or metric is below 0; there is some room above the largest. Without any values uPlot gives null. */
function fromZero(_: uPlot, __: number, largest: number | null): [number, number] {
  return [0, (largest || 1) * 1.1];
}

function colour(variable = '--ink'): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable);
}
