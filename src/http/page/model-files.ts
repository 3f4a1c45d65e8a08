import { byId, element, whileBusy } from './elements.js';
import { shownProblem } from './problems.js';
import type { Job, Service } from './service.js';

/** What can be downloaded of a model: a button's id, what the service calls it, and how the file's name ends. */
const FILES = [
  ['job-report', 'report', '-report.html'],
  ['job-card', 'card', '-card.md'],
  ['job-zip', 'zip', '.zip'],
] as const;

/** The buttons of a trained model: its files, and its deletion. */
export class ModelFiles {
  readonly #service: Service;
  readonly #onDeleted: () => void;
  #job: Job | undefined;

  constructor(service: Service, onDeleted: () => void) {
    this.#service = service;
    this.#onDeleted = onDeleted;
    for (const [id, file, ending] of FILES) this.#onClick(id, (job) => this.#download(job, file, ending));
    this.#onClick('delete-model', (job) => this.#delete(job));
  }

  /** Offers what there is of a job's model. */
  show(job: Job): void {
    this.#job = job;
    byId('model-files', HTMLElement).hidden = job.status !== 'READY';
  }

  #onClick(id: string, work: (job: Job) => Promise<void>): void {
    const button = byId(id, HTMLButtonElement);
    button.addEventListener('click', () => {
      const job = this.#job;
      if (job === undefined) return;
      const told = byId('files-problem', HTMLElement);
      told.textContent = '';
      void whileBusy(button, () =>
        work(job).catch((thrown: unknown) => {
          told.textContent = shownProblem(thrown);
        }),
      );
    });
  }

  async #download({ model }: Job, file: (typeof FILES)[number][1], ending: string): Promise<void> {
    const url = URL.createObjectURL(await this.#service.modelFile(model.id, file));
    element('a', { href: url, download: model.name + ending }).click();
    // The browser has taken it over by then.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  async #delete({ model }: Job): Promise<void> {
    if (!confirm(`Delete the model ${model.name}? Its files can't be brought back.`)) return;
    await this.#service.deleteModel(model.id);
    byId('model-files', HTMLElement).hidden = true;
    this.#onDeleted();
  }
}
