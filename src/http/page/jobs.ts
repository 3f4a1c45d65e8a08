import uPlot from 'uplot';
import type { TrainingJobStatus } from '../../contract/index.js';
import type { JobProgress, JobStreamEvent } from '../schemas.js';
import { announce, byId, element, saveFile, shownProblem, shownTime, table, whileBusy } from './elements.js';
import { hasEnded, type Job, type Service, watchJob } from './service.js';

interface JobPanelOptions {
  readonly service: Service;
  readonly onChange: (job: Job) => void;
  readonly onDeleted: () => void;
  readonly onAsk: (id: string) => Promise<void>;
}

/** One job, watched while it runs. */
export class JobPanel {
  readonly #charts = new JobCharts();
  readonly #options: JobPanelOptions;
  #watching = new AbortController();
  /** The id of the job in the panel. */
  #id: string | undefined;
  /** Undefined until the service has answered. */
  #job: Job | undefined;
  #progress: JobProgress | undefined;

  constructor(options: JobPanelOptions) {
    this.#options = options;
    this.#startModelFiles();
    const cancel = byId('cancel-job', HTMLButtonElement);
    cancel.addEventListener('click', () => void whileBusy(cancel, () => this.#cancel()));
    byId('ask-job', HTMLButtonElement).addEventListener('click', () => {
      if (this.#job) void options.onAsk(this.#job.model.id);
    });
  }

  async watch(id: string, name: string): Promise<void> {
    this.#watching.abort();
    const watching = new AbortController();
    this.#watching = watching;
    this.#id = id;
    this.#job = undefined;
    this.#progress = undefined;
    setText('job-heading', `Job ${name}`);
    for (const line of LINES) setText(line, '');
    byId('job', HTMLElement).hidden = false;
    try {
      const onLost = () => setText('job-problem', 'Connection lost; trying again…');
      for await (const event of watchJob(this.#options.service, id, watching.signal, onLost)) {
        this.#take(event);
      }
    } catch (thrown) {
      if (!watching.signal.aborted) setText('job-problem', shownProblem(thrown));
    }
  }

  #take(event: JobStreamEvent): void {
    setText('job-problem', '');
    if (event.event === 'progress') this.#progress = event.data;
    if (event.event === 'job') this.#takeJob(event.data);
    if (this.#job) this.#show(this.#job);
  }

  #takeJob(job: Job): void {
    const before = this.#job;
    this.#job = job;
    this.#announce(job, before);
    if (job.status !== before?.status) this.#options.onChange(job);
  }

  /** Announces states and epochs to screen readers, but not progress, which is too frequent. */
  #announce(job: Job, before: Job | undefined): void {
    const { name } = job.model;
    if (job.status !== before?.status) announce(`Job ${name}: ${statusTexts[job.status]}.`);
    const { epochs, loss, metrics } = jobFigures(job);
    if (before === undefined || epochs.length <= before.training_stats.epoch) return;
    const figures = metrics.map((metric) => `${metric.name} ${metric.values.at(-1)?.toFixed(3)}`);
    announce(`Job ${name}, epoch ${epochs.length}: ${[`loss ${loss.at(-1)?.toFixed(3)}`, ...figures].join(', ')}.`);
  }

  #show(job: Job): void {
    setText('job-state', stateLine(job));
    const bar = byId('job-progress', HTMLProgressElement);
    bar.hidden = hasEnded(job);
    bar.value = this.#progress?.fraction ?? 0;
    setText('job-step', hasEnded(job) ? '' : stepLine(job, this.#progress));
    const warnings = (job.warnings ?? []).map(({ message }) => element('li', {}, shownProblem(message)));
    byId('job-warnings', HTMLElement).replaceChildren(...warnings);
    if (job.error) setText('job-problem', failureLine(job.error));
    byId('job-dataset', HTMLElement).replaceChildren(...datasetProblems(job.error?.problems ?? []));
    const cancel = byId('cancel-job', HTMLButtonElement);
    // A hidden button would lose the keyboard focus.
    if (hasEnded(job) && document.activeElement === cancel) byId('job-heading', HTMLElement).focus();
    cancel.hidden = hasEnded(job);
    byId('ask-job', HTMLButtonElement).hidden = job.status !== 'READY';
    byId('model-files', HTMLElement).hidden = job.status !== 'READY';
    this.#charts.show(job, this.#progress);
  }

  async #cancel(): Promise<void> {
    if (this.#job === undefined) return;
    const { id } = this.#job.model;
    try {
      await this.#options.service.cancel(id);
    } catch (thrown) {
      if (this.#id === id) setText('job-problem', shownProblem(thrown));
    }
  }

  /** The buttons to download the files of a trained model and to delete it. */
  #startModelFiles(): void {
    const { service, onDeleted } = this.#options;
    const onClick = (id: string, work: (job: Job) => Promise<void>) => {
      const button = byId(id, HTMLButtonElement);
      button.addEventListener('click', () => {
        const job = this.#job;
        if (job === undefined) return;
        setText('files-problem', '');
        void whileBusy(button, () =>
          work(job).catch((thrown: unknown) => {
            if (this.#id === job.model.id) setText('files-problem', shownProblem(thrown));
          }),
        );
      });
    };
    for (const [id, file, ending] of FILES) {
      onClick(id, async ({ model }) => {
        saveFile(await service.modelFile(model.id, file), model.name + ending);
      });
    }
    onClick('delete-model', async ({ model }) => {
      if (!confirm(`Delete the model ${model.name}? This can't be undone.`)) return;
      await service.deleteModel(model.id);
      if (this.#id === model.id) {
        byId('job', HTMLElement).hidden = true;
        byId('model-files', HTMLElement).hidden = true;
        byId('jobs-heading', HTMLElement).focus();
      }
      onDeleted();
    });
  }
}

/** What the panel shows of a job in text. */
const LINES = ['job-state', 'job-step', 'job-problem', 'job-dataset', 'job-warnings', 'files-problem'] as const;

/** Files of a model to download: the id of the button, the file's name in the URL, and the ending of the saved file. */
const FILES = [
  ['job-report', 'report', '-report.html'],
  ['job-card', 'card', '-card.md'],
  ['job-zip', 'zip', '.zip'],
] as const;

function stateLine({ status, training_stats: stats, validation_rows: rows }: Job): string {
  const { main_eval_metric: metric, best_eval_metric_value: value } = stats;
  const where =
    rows === undefined
      ? 'on the dev set'
      : `on ${rows.toLocaleString('en-US')} held-out ${rows === 1 ? 'row' : 'rows'}`;
  const best = metric && value !== undefined ? `; best ${metric} ${value.toFixed(3)} ${where}` : '';
  return `${statusTexts[status]}${best}`;
}

/** Keeps the case of the file name at the start of a message about a dataset. */
export function failureLine({ message, problems = [] }: NonNullable<Job['error']>): string {
  return shownProblem(problems.length > 0 ? `in the dataset, ${message}` : message);
}

const phases: Readonly<Record<string, string>> = {
  download: 'Downloading the dataset',
  read: 'Reading the dataset',
  prepare: 'Preparing',
  train: 'Training',
  evaluate: 'Evaluating on the dev set',
  export: 'Writing the model',
};

export function stepLine({ status }: Pick<Job, 'status'>, progress: JobProgress | undefined): string {
  if (progress === undefined) return status === 'RUNNING' ? 'Running.' : 'Waiting.';
  const { phase, epoch, epochs, remaining_ms } = progress;
  const where = epochs > 0 ? `, epoch ${Math.min(epoch + 1, epochs)} of ${epochs}` : '';
  const left = remaining_ms === undefined ? '' : `; about ${duration(remaining_ms)} left`;
  return `${phases[phase] ?? phase}${where}${left}.`;
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

function setText(id: string, text: string): void {
  const place = byId(id, HTMLElement);
  if (place.textContent !== text) place.textContent = text; // screen readers would read an unchanged alert again
}

/** @returns a function that refreshes the list of the newest jobs, and returns these, newest first */
export function jobList(service: Service, onWatch: (id: string, name: string) => void) {
  const row = ({ model: { id, name, type }, status, created }: Job) => {
    const ariaLabel = `Show job ${name}`;
    const show = element('button', { type: 'button', id: BUTTON + id, className: 'link', ariaLabel }, name);
    show.addEventListener('click', () => onWatch(id, name));
    const cells = [statusTexts[status], type.replaceAll('-', ' '), shownTime(created)];
    const rest = cells.map((cell) => element('td', {}, cell));
    return element('tr', {}, element('th', { scope: 'row' }, show), ...rest);
  };
  return async (): Promise<readonly Job[]> => {
    const problem = byId('jobs-problem', HTMLElement);
    try {
      const jobs = await service.jobs();
      const focused = document.activeElement?.id;
      byId('jobs-rows', HTMLElement).replaceChildren(...jobs.map(row));
      if (focused?.startsWith(BUTTON)) document.getElementById(focused)?.focus();
      byId('no-jobs', HTMLElement).hidden = jobs.length > 0;
      byId('jobs-scroll', HTMLElement).hidden = jobs.length === 0;
      problem.textContent = '';
      return jobs;
    } catch (thrown) {
      problem.textContent = shownProblem(thrown);
      return [];
    }
  };
}

const BUTTON = 'show-';

/** Each status has a mark, so that it can be recognized without colour. */
const statusTexts: Readonly<Record<TrainingJobStatus, string>> = {
  CREATED: '○ created',
  QUEUED: '○ queued',
  RUNNING: '▶ running',
  READY: '✓ ready',
  CANCELLED: '■ cancelled',
  DELETED: '■ deleted',
  ERROR: '✕ failed',
};

type DatasetProblem = NonNullable<NonNullable<Job['error']>['problems']>[number];

/** The service lists the first 100; the message of the failure has their number. */
function datasetProblems(problems: readonly DatasetProblem[]): HTMLElement[] {
  if (problems.length === 0) return [];
  const columns = ['Where', 'Problem', 'Expected'];
  const rows = table({ className: 'problems', columns }, problems.map(problemCells));
  const ariaLabel = 'Problems in the dataset';
  return [element('div', { className: 'scroll box', role: 'region', ariaLabel, tabIndex: 0 }, rows)];
}

function problemCells({ file, line, column, found, expected }: DatasetProblem) {
  const place = [
    ...(line === undefined ? [] : [`line ${line.toLocaleString('en-US')}`]),
    ...(column === undefined ? [] : [`column ${column}`]),
  ];
  const where = element('span', { className: 'place' }, place.join(', '));
  return [[file, ' ', where], found, expected] as const;
}

class JobCharts {
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
    // One epoch makes no curve; the table has its figures.
    const isPoint = hasEnded(job) && figures.epochs.length < 2;
    byId('metric-figure', HTMLElement).hidden = isPoint || figures.metrics.length === 0;
    byId('loss-figure', HTMLElement).hidden = isPoint || live.loss.length === 0;
    showTable(figures);
  }
}

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

interface JobFigures {
  /** Epochs completed: 1, 2, … */
  readonly epochs: readonly number[];
  readonly loss: readonly number[];
  readonly metrics: readonly Curve[];
}

/** The ranks shown, of the six in `topk`. */
const shownRanks = ['1', '10'] as const;

/** As in the report. */
function f1Name({ model, positive_label }: Job): string {
  if (positive_label !== undefined) return `F1 of "${positive_label}"`;
  return model.type.endsWith('text-classification') ? 'macro F1' : 'F1';
}

function jobFigures(job: Job): JobFigures {
  const { metrics } = job.training_stats;
  const { accuracy, f1, topk } = metrics.validation;
  const { loss } = metrics.training;
  return {
    epochs: loss.map((_, at) => at + 1),
    loss,
    metrics: [
      ...(accuracy ? [{ name: 'accuracy', values: accuracy }] : []),
      ...(f1 ? [{ name: f1Name(job), values: f1 }] : []),
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
          { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => String(Number(tick.toPrecision(3)))) },
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
