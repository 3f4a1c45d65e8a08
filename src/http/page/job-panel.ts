import type { JobProgress, JobStreamEvent } from '../schemas.js';
import { datasetProblems } from './dataset-problems.js';
import { announce, byId, element, whileBusy } from './elements.js';
import { JobCharts } from './job-charts.js';
import { jobFigures } from './job-figures.js';
import { statusText } from './job-status.js';
import { ModelFiles } from './model-files.js';
import { shownProblem } from './problems.js';
import type { Job, Service } from './service.js';
import { hasEnded, watchJob } from './watch-job.js';

export interface JobPanelOptions {
  readonly service: Service;
  /** Told each time the watched job changes. */
  readonly onChange: (job: Job) => void;
  /** Told when the job's model was deleted. */
  readonly onDeleted: () => void;
  /** Has the job's model asked. */
  readonly onAsk: (id: string) => void;
}

/** One job, watched while it runs. */
export class JobPanel {
  readonly #charts = new JobCharts();
  readonly #files: ModelFiles;
  readonly #options: JobPanelOptions;
  #watching = new AbortController();
  #job: Job | undefined;
  #progress: JobProgress | undefined;

  constructor(options: JobPanelOptions) {
    this.#options = options;
    this.#files = new ModelFiles(options.service, () => {
      byId('job', HTMLElement).hidden = true;
      options.onDeleted();
    });
    const cancel = byId('cancel-job', HTMLButtonElement);
    cancel.addEventListener('click', () => void whileBusy(cancel, () => this.#cancel()));
    byId('ask-job', HTMLButtonElement).addEventListener('click', () => {
      if (this.#job) options.onAsk(this.#job.model.id);
    });
  }

  /** Shows a job from now on, in place of the one before. */
  async watch(id: string, name: string): Promise<void> {
    this.#watching.abort();
    const watching = new AbortController();
    this.#watching = watching;
    this.#job = undefined;
    this.#progress = undefined;
    setText('job-heading', `Job ${name}`);
    for (const line of ['job-state', 'job-step', 'job-problem', 'job-dataset', 'job-warnings'])
      setText(line, '');
    byId('job', HTMLElement).hidden = false;
    try {
      const onLost = () => setText('job-problem', 'The connection is lost; trying again…');
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
    this.#tell(job, before);
    if (job.status !== before?.status) this.#options.onChange(job);
  }

  /** States and epochs are told to screen readers; progress comes too often. */
  #tell(job: Job, before: Job | undefined): void {
    const { name } = job.model;
    if (job.status !== before?.status) announce(`Job ${name}: ${statusText(job.status)}.`);
    const { epochs, loss, metrics } = jobFigures(job);
    if (before === undefined || epochs.length <= before.training_stats.epoch) return;
    const figures = metrics.map((metric) => `${metric.name} ${metric.values.at(-1)?.toFixed(3)}`);
    announce(
      `Job ${name}, epoch ${epochs.length}: ${[`loss ${loss.at(-1)?.toFixed(3)}`, ...figures].join(', ')}.`,
    );
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
    // A button that goes would take the focus with it.
    if (hasEnded(job) && document.activeElement === cancel) byId('job-heading', HTMLElement).focus();
    cancel.hidden = hasEnded(job);
    byId('ask-job', HTMLButtonElement).hidden = job.status !== 'READY';
    this.#files.show(job);
    this.#charts.show(job, this.#progress);
  }

  async #cancel(): Promise<void> {
    if (this.#job === undefined) return;
    try {
      await this.#options.service.cancel(this.#job.model.id);
    } catch (thrown) {
      setText('job-problem', shownProblem(thrown));
    }
  }
}

function stateLine({ status, training_stats: stats }: Job): string {
  const { main_eval_metric: metric, best_eval_metric_value: value } = stats;
  const best = metric && value !== undefined ? `; best ${metric} on the dev set ${value.toFixed(3)}` : '';
  return `${statusText(status)}${best}`;
}

/** The message about a dataset begins with the name of a file, which keeps its case. */
function failureLine({ message, problems = [] }: NonNullable<Job['error']>): string {
  return shownProblem(problems.length > 0 ? `in the dataset, ${message}` : message);
}

const phases: Readonly<Record<string, string>> = {
  download: 'Fetching the dataset',
  read: 'Reading the dataset',
  prepare: 'Preparing',
  train: 'Training',
  evaluate: 'Measuring on the dev set',
  export: 'Writing the model',
};

function stepLine({ status }: Job, progress: JobProgress | undefined): string {
  if (progress === undefined) return status === 'RUNNING' ? 'Running.' : 'Waiting for its turn.';
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
  if (place.textContent !== text) place.textContent = text; // an alert that says the same again would be read again
}
