import { byId, element, shownTime } from './elements.js';
import { statusText } from './job-status.js';
import { shownProblem } from './problems.js';
import type { Job, Service } from './service.js';

/** The newest jobs of the account. */
export class JobList {
  readonly #rows = byId('jobs-rows', HTMLElement);

  readonly #service: Service;
  readonly #onWatch: (id: string, name: string) => void;

  constructor(service: Service, onWatch: (id: string, name: string) => void) {
    this.#service = service;
    this.#onWatch = onWatch;
  }

  /** @returns the jobs that are listed now, newest first. */
  async refresh(): Promise<readonly Job[]> {
    const problem = byId('jobs-problem', HTMLElement);
    try {
      const jobs = await this.#service.jobs();
      const focused = document.activeElement?.id;
      this.#rows.replaceChildren(...jobs.map((job) => this.#row(job)));
      if (focused?.startsWith(BUTTON)) document.getElementById(focused)?.focus();
      byId('no-jobs', HTMLElement).hidden = jobs.length > 0;
      byId('jobs-scroll', HTMLElement).hidden = jobs.length === 0;
      problem.textContent = '';
      return jobs;
    } catch (thrown) {
      problem.textContent = shownProblem(thrown);
      return [];
    }
  }

  #row({ model, status, created }: Job): HTMLTableRowElement {
    const { id, name, type } = model;
    const ariaLabel = `Show job ${name}`;
    const show = element('button', { type: 'button', id: BUTTON + id, className: 'link', ariaLabel }, name);
    show.addEventListener('click', () => this.#onWatch(id, name));
    const cells = [statusText(status), type.replaceAll('-', ' '), shownTime(created)];
    const rest = cells.map((cell) => element('td', {}, cell));
    return element('tr', {}, element('th', { scope: 'row' }, show), ...rest);
  }
}

/** How the ids of the buttons begin. */
const BUTTON = 'show-';
