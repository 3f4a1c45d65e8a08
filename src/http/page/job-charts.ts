import type { JobProgress } from '../schemas.js';
import { CurveChart } from './curve-chart.js';
import { byId, element } from './elements.js';
import { type JobFigures, jobFigures, liveLoss } from './job-figures.js';
import type { Job } from './service.js';

/** The curves of the watched job and, for those who read rather than look, the same figures as a table. */
export class JobCharts {
  readonly #loss = new CurveChart(byId('loss-chart', HTMLElement));
  readonly #metrics = new CurveChart(byId('metric-chart', HTMLElement));

  show(job: Job, progress: JobProgress | undefined): void {
    const figures = jobFigures(job);
    const lastEpoch = job.status === 'RUNNING' ? (progress?.epochs ?? 0) : figures.epochs.length;
    const live = liveLoss(figures, progress);
    this.#loss.show(
      live.epochs,
      [{ name: 'loss', values: live.loss }],
      Math.max(lastEpoch, figures.epochs.length),
    );
    this.#metrics.show(figures.epochs, figures.metrics, Math.max(lastEpoch, figures.epochs.length));
    byId('loss-now', HTMLElement).textContent = live.loss.at(-1)?.toFixed(3) ?? '';
    byId('metric-legend', HTMLElement).replaceChildren(...legend(figures));
    byId('metric-figure', HTMLElement).hidden = figures.metrics.length === 0;
    byId('loss-figure', HTMLElement).hidden = live.loss.length === 0;
    showTable(figures);
  }
}

/** Each curve's line, name and latest value. */
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
