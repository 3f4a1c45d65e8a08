import {
  announce,
  byId,
  clearProblems,
  element,
  type Fields,
  saveFile,
  shownProblem,
  shownTime,
  showProblems,
  whileBusy,
} from './elements.js';
import { failureLine, stepLine } from './jobs.js';
import {
  hasEnded,
  type LabellingSet,
  type ListedSet,
  type Opinion,
  Refused,
  type Service,
  watchJob,
} from './service.js';

/** Sets of texts that are labelled one text at a time, by keys, and models that are trained on them. */
export class LabelView {
  readonly #service: Service;
  readonly #onTrained: () => void;
  #set: LabellingSet | undefined;
  /** Changes when something else is to be shown, so that answers that come later are dropped. */
  #call = 0;
  /** Sets with a choice that is being saved. Until then keys do nothing, so that no text is labelled before it is seen. */
  readonly #saving = new Set<string>();
  /** Sets whose training is being started; the service doesn't know it yet. */
  readonly #starting = new Set<string>();
  #isOrdering = false;
  #watching = new AbortController();

  /** @param onTrained called when a job was started, and when it has ended */
  constructor(service: Service, onTrained: () => void) {
    this.#service = service;
    this.#onTrained = onTrained;
    startSetForm(service, (set) => {
      this.#set = set;
      location.hash = `label/${set.id}`;
    });
    this.#onClick(byId('skip', HTMLButtonElement), 'choice-problem', () => this.#choose(null));
    this.#onClick(byId('undo', HTMLButtonElement), 'choice-problem', () => this.#undo());
    this.#onClick(byId('train-set', HTMLButtonElement), 'train-set-problem', () => this.#train());
    this.#onClick(byId('export-set', HTMLButtonElement), 'set-files-problem', () => this.#export());
    this.#onClick(byId('delete-set', HTMLButtonElement), 'set-files-problem', () => this.#delete());
    document.addEventListener('keydown', (event) => this.#press(event));
  }

  /** @param id of the set to open. Default: the list of all */
  async show(id: string | undefined): Promise<void> {
    this.leave();
    const call = this.#call;
    if (this.#set?.id !== id) this.#set = undefined;
    byId('label-start', HTMLElement).hidden = id !== undefined;
    byId('set', HTMLElement).hidden = true;
    for (const place of ['last-choice', 'opinion', 'choice-problem', 'train-set-problem', 'set-files-problem']) {
      byId(place, HTMLElement).textContent = '';
    }
    if (id === undefined) return this.#showList(call);
    byId('card', HTMLElement).ariaBusy = this.#saving.has(id) ? 'true' : null;
    try {
      const set = this.#set ?? (await this.#service.set(id));
      if (call !== this.#call) return;
      this.#take(set);
    } catch (thrown) {
      if (call !== this.#call) return;
      byId('label-start', HTMLElement).hidden = false;
      return this.#showList(call, shownProblem(thrown));
    }
    byId('set', HTMLElement).hidden = false;
    byId('set-heading', HTMLElement).focus();
    const { training } = this.#set ?? {};
    if (training) void this.#watch(training);
  }

  /** Another view is shown. */
  leave(): void {
    this.#call += 1;
    this.#watching.abort();
    byId('set-job', HTMLElement).hidden = true;
    byId('set-job-step', HTMLElement).textContent = '';
  }

  async #showList(call: number, problem = ''): Promise<void> {
    let shown = problem;
    const sets = await this.#service.sets().catch((thrown: unknown) => {
      shown ||= shownProblem(thrown);
      return [];
    });
    if (call !== this.#call) return;
    byId('set-problem', HTMLElement).textContent = shown;
    byId('sets-list', HTMLElement).replaceChildren(...sets.map(listed));
    byId('sets', HTMLElement).hidden = sets.length === 0;
    byId(sets.length === 0 ? 'new-set-heading' : 'sets-heading', HTMLElement).focus();
  }

  #press(event: KeyboardEvent): void {
    if (this.#set === undefined || byId('labelling', HTMLElement).hidden || byId('set', HTMLElement).hidden) return;
    if (!byId('shortcuts', HTMLInputElement).checked || event.altKey || event.metaKey || event.repeat) return;
    const key = event.key.toLowerCase();
    const isUndo = event.ctrlKey ? key === 'z' : key === 'u' || key === 'backspace';
    const at = keys.indexOf(key.toUpperCase());
    if (isUndo) byId('undo', HTMLButtonElement).click();
    else if (event.ctrlKey) return;
    else if (key === 's') byId('skip', HTMLButtonElement).click();
    else if (at >= 0) document.querySelectorAll<HTMLButtonElement>('#choices button')[at]?.click();
    else return;
    event.preventDefault();
  }

  async #choose(label: string | null): Promise<void> {
    const { id, next } = this.#set ?? {};
    if (id === undefined || !next) return;
    await this.#save(id, async () => {
      const set = await this.#service.choose(id, next.text, label);
      if (this.#set?.id !== id) return;
      this.#take(set);
      const said = label === null ? 'Skipped' : `Labelled ${label}`;
      showLast(label, next.content);
      announce(`${said}. ${this.#nextLine()}`);
      if (label !== null && this.#set?.model) void this.#compare(id, next.text, label);
    });
  }

  /** Shows what the model says of a text, now that its label is chosen. */
  async #compare(id: string, text: number, chosen: string): Promise<void> {
    // Without an answer, as when the model is busy, the label is saved all the same.
    const opinion = await this.#service.opinion(id, text).catch(() => null);
    const now = this.#set;
    if (opinion === null || now?.id !== id) return;
    this.#set = { ...now, agreement: opinion.agreement };
    this.#showModel();
    if (now.last === text) showOpinion(opinion, chosen);
  }

  async #undo(): Promise<void> {
    const { id, last } = this.#set ?? {};
    if (id === undefined || last === null || last === undefined) return;
    await this.#save(id, async () => {
      const set = await this.#service.undo(id, last);
      if (this.#set?.id !== id) return;
      this.#take(set);
      byId('last-choice', HTMLElement).textContent = 'Undone: choose again.';
      announce(`Undone. ${this.#nextLine()}`);
    });
  }

  async #save(id: string, work: () => Promise<void>): Promise<void> {
    if (this.#saving.has(id)) return;
    this.#saving.add(id);
    byId('card', HTMLElement).ariaBusy = 'true';
    byId('opinion', HTMLElement).textContent = '';
    try {
      await work();
    } catch (thrown) {
      if (this.#set?.id === id) byId('choice-problem', HTMLElement).textContent = shownProblem(thrown);
      if (thrown instanceof Refused && thrown.status === 409) await this.#reload(id); // another tab was faster
    } finally {
      this.#saving.delete(id);
      if (this.#set?.id === id) byId('card', HTMLElement).ariaBusy = null;
    }
  }

  /** Shows how a set is now, if it is still open. */
  async #reload(id: string): Promise<void> {
    if (this.#set?.id !== id) return;
    const set = await this.#service.set(id);
    if (this.#set?.id === id) this.#take(set);
  }

  #nextLine(): string {
    const { next } = this.#set ?? {};
    return next ? `Next text: ${next.content}` : 'No texts are left.';
  }

  /** Shows a set as it is now. */
  #take(set: LabellingSet): void {
    this.#set = set;
    const { name, texts, counts, skipped, next, last, labels } = set;
    const labelled = sum(counts);
    byId('set-heading', HTMLElement).textContent = name;
    const skips = skipped > 0 ? `, ${grouped(skipped)} skipped` : '';
    byId('set-count', HTMLElement).textContent = `${grouped(labelled)} of ${grouped(texts)} labelled${skips}`;
    byId('set-progress', HTMLProgressElement).value = (labelled + skipped) / texts;
    const text = byId('card-text', HTMLElement);
    text.textContent =
      next?.content ?? 'All texts are labelled or skipped. Train on these labels, or download the rows.';
    text.classList.toggle('long', (next?.content.length ?? 0) > LONG_TEXT);
    byId('card-order', HTMLElement).textContent = next ? orders[set.order] : '';
    this.#showChoices(labels);
    byId('skip', HTMLButtonElement).ariaDisabled = next ? null : 'true';
    byId('undo', HTMLButtonElement).ariaDisabled = last === null ? 'true' : null;
    const most = Math.max(1, ...counts);
    byId('label-counts', HTMLElement).replaceChildren(
      ...labels.map((label, at) => {
        const count = counts[at] ?? 0;
        const filled = element('span', { className: 'filled' });
        filled.style.inlineSize = `${(count / most) * 100}%`;
        const track = element('span', { className: 'track', ariaHidden: 'true' }, filled);
        const shown = [element('span', { className: 'label' }, label), track, element('span', {}, grouped(count))];
        return element('li', {}, ...shown);
      }),
    );
    this.#showModel();
    if (set.is_order_due) void this.#order(set.id);
  }

  /** One button per label; kept while the set is open, so that none loses the focus. */
  #showChoices(labels: readonly string[]): void {
    const place = byId('choices', HTMLElement);
    const isDone = this.#set?.next === null;
    if (place.dataset.set !== this.#set?.id) {
      place.dataset.set = this.#set?.id ?? '';
      const buttons = labels.map((label, at) => {
        const key = keys[at] ?? '';
        const shown = [element('kbd', { ariaHidden: 'true' }, key), element('span', {}, label)];
        const button = element('button', { type: 'button' }, ...shown);
        button.setAttribute('aria-keyshortcuts', key);
        this.#onClick(button, 'choice-problem', () => this.#choose(label));
        return button;
      });
      place.replaceChildren(...buttons);
    }
    for (const button of place.querySelectorAll('button')) button.ariaDisabled = isDone ? 'true' : null;
  }

  #showModel(): void {
    if (this.#set === undefined) return;
    const { id, model, training, agreement, counts } = this.#set;
    const { asked, agreed } = agreement;
    const share = asked === 0 ? '' : ` (${Math.round((100 * agreed) / asked)} %)`;
    const yours = `your ${asked} ${asked === 1 ? 'label' : 'labels'}`;
    const state = byId('model-state', HTMLElement);
    if (model === null) state.textContent = 'There is no model yet.';
    else if (asked === 0)
      state.textContent = 'The model is trained. Keep labelling, and see whether it agrees with you.';
    else state.textContent = `Since its training, the model has agreed with ${agreed} of ${yours}${share}.`;
    const button = byId('train-set', HTMLButtonElement);
    const enough = counts.filter((count) => count >= LEAST_TEXTS).length >= 2;
    const isBusy = training !== null || this.#starting.has(id);
    button.ariaDisabled = isBusy || !enough ? 'true' : null;
    button.textContent = isBusy
      ? 'Training…'
      : model === null
        ? 'Train on these labels'
        : 'Train again on these labels';
    const need = `Label at least ${LEAST_TEXTS} texts for each of two labels first.`;
    byId('train-set-note', HTMLElement).textContent = isBusy
      ? 'You can keep labelling while it trains.'
      : enough
        ? ''
        : need;
  }

  /** Lets the service put the most useful texts first. Labelling goes on meanwhile, and the text on the screen stays. */
  async #order(id: string): Promise<void> {
    if (this.#isOrdering) return;
    this.#isOrdering = true;
    try {
      const ordered = await this.#service.orderTexts(id);
      const now = this.#set;
      if (now?.id !== id || this.#saving.has(id) || now.last !== ordered.last) return; // the next answer has the order
      this.#take({ ...ordered, next: now.next, order: now.order });
    } catch {
      // The next answer says that it is still due; until then the order is as before.
    } finally {
      this.#isOrdering = false;
    }
  }

  async #train(): Promise<void> {
    const set = this.#set;
    if (set === undefined || this.#starting.has(set.id)) return;
    this.#starting.add(set.id);
    this.#showModel();
    try {
      await this.#startTraining(set);
    } finally {
      this.#starting.delete(set.id);
      this.#showModel();
    }
  }

  async #startTraining(set: LabellingSet): Promise<void> {
    const type = set.labels.length === 2 ? 'binary-text-classification' : 'multiclass-text-classification';
    const rows = new File([await this.#service.labelledRows(set.id)], `${set.name}.jsonl`);
    const upload = await this.#service.upload(rows, type);
    const model_config = { name: set.name, type, family: 'Papaya', size: 'mini' };
    const { id } = await this.#service.trainOnUpload(upload, { model_config, training_config: {} });
    this.#onTrained();
    const noted = await this.#service.noteTraining(set.id, id);
    if (this.#set?.id !== set.id) return;
    this.#take({ ...noted, next: this.#set.next });
    announce('The training has started.');
    void this.#watch(id);
  }

  async #watch(job: string): Promise<void> {
    const set = this.#set?.id;
    const watching = new AbortController();
    this.#watching.abort();
    this.#watching = watching;
    const bar = byId('set-job', HTMLProgressElement);
    const step = byId('set-job-step', HTMLElement);
    const problem = byId('train-set-problem', HTMLElement);
    bar.hidden = false;
    bar.value = 0;
    step.textContent = 'Waiting.';
    try {
      const onLost = () => {
        step.textContent = 'Connection lost; trying again…';
      };
      for await (const event of watchJob(this.#service, job, watching.signal, onLost)) {
        if (event.event === 'progress') {
          bar.value = event.data.fraction;
          step.textContent = stepLine({ status: 'RUNNING' }, event.data);
        } else if (event.event === 'job' && hasEnded(event.data)) {
          const { status, error } = event.data;
          if (error) problem.textContent = failureLine(error);
          else if (status !== 'READY') problem.textContent = 'The training was cancelled.';
          else announce('The model is trained. It now picks the next texts.');
        }
      }
      this.#onTrained();
      if (set !== undefined) await this.#reload(set);
    } catch (thrown) {
      if (!watching.signal.aborted) problem.textContent = shownProblem(thrown);
    }
    if (this.#watching !== watching) return;
    bar.hidden = true;
    step.textContent = '';
  }

  async #export(): Promise<void> {
    const { id, name } = this.#set ?? {};
    if (id !== undefined) saveFile(await this.#service.labelledRows(id), `${name}.jsonl`);
  }

  async #delete(): Promise<void> {
    const { id, name } = this.#set ?? {};
    if (id === undefined) return;
    if (!confirm(`Delete the set ${name} with its texts and labels? This can't be undone. Its models stay.`)) return;
    await this.#service.deleteSet(id);
    announce(`The set ${name} is deleted.`);
    if (this.#set?.id !== id) return;
    this.#set = undefined;
    location.hash = 'label';
  }

  /** @param problem the id of the place that shows why the work failed, if the same set is still open */
  #onClick(button: HTMLButtonElement, problem: string, work: () => Promise<void>): void {
    button.addEventListener('click', () => {
      if (button.ariaDisabled === 'true') return;
      const place = byId(problem, HTMLElement);
      const id = this.#set?.id;
      place.textContent = '';
      work().catch((thrown: unknown) => {
        if (this.#set?.id === id) place.textContent = shownProblem(thrown);
      });
    });
  }
}

/** The keys of labels, in their order; S and U have other uses. */
const keys = [...'123456789ABCDEFGHIJKLMNOPQRTVWXYZ'];
/** A label with fewer texts teaches a model nothing, and none could be set aside to evaluate it. */
const LEAST_TEXTS = 2;
/** UTF-16 code units from which a text is shown in smaller letters. */
const LONG_TEXT = 280;
const SHOWN_CHARACTERS = 60;

const orders: Readonly<Record<LabellingSet['order'], string>> = {
  chance: 'Picked at random',
  spread: 'Picked to cover all kinds of texts',
  model: 'Picked by the model, which is unsure here',
};

function showLast(label: string | null, content: string): void {
  const short = content.length > SHOWN_CHARACTERS ? `${content.slice(0, SHOWN_CHARACTERS).trimEnd()}…` : content;
  const quoted = element('q', { dir: 'auto' }, short);
  const chosen = label === null ? ['Skipped ', quoted] : [quoted, ' is ', element('strong', {}, label), '.'];
  byId('last-choice', HTMLElement).replaceChildren(...chosen);
}

function showOpinion({ label, score }: Opinion, chosen: string): void {
  const share = `${Math.round(score * 100)} %`;
  const isSame = label === chosen;
  const place = byId('opinion', HTMLElement);
  place.className = isSame ? 'agrees' : 'differs';
  place.textContent = isSame ? `The model agrees: ${share}.` : `The model said ${label}, ${share}.`;
}

function listed({ id, name, labels, texts, done, created }: ListedSet): HTMLElement {
  const link = element('a', { className: 'set-link', href: `#label/${id}` }, name);
  const share = element('progress', { max: texts, value: done, ariaLabel: `Share of ${name} that is done` });
  const figures = `${grouped(done)} of ${grouped(texts)} texts`;
  const about = `${labels.join(', ')} · ${shownTime(created)}`;
  return element(
    'li',
    {},
    element('div', { className: 'set-line' }, link, element('span', {}, figures)),
    share,
    element('p', { className: 'note' }, about),
  );
}

const fields: Fields = {
  'x-set-name': 'set-name',
  'x-labels': 'set-labels',
  body: 'set-paste', // the texts themselves; what is wrong with a file is shown at the file
};
const fileFields: Fields = { ...fields, body: 'set-file' };
const REST = 'set-problem';

function startSetForm(service: Service, onCreated: (set: LabellingSet) => void): void {
  const form = byId('set-form', HTMLFormElement);
  const button = byId('set-button', HTMLButtonElement);
  const isFile = () => document.querySelector<HTMLInputElement>('input[name=set-source]:checked')?.value === 'file';
  form.addEventListener('change', () => {
    for (const [name, isChosen] of [
      ['set-paste', !isFile()],
      ['set-file', isFile()],
    ] as const) {
      byId(`${name}-field`, HTMLElement).hidden = !isChosen;
      const field = byId(name, HTMLElement);
      if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.disabled = !isChosen;
    }
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void whileBusy(button, async () => {
      clearProblems(fields, REST);
      clearProblems(fileFields, REST);
      button.textContent = 'Reading the texts…';
      try {
        const file = isFile() ? byId('set-file', HTMLInputElement).files?.item(0) : undefined;
        const texts = file ?? new File([byId('set-paste', HTMLTextAreaElement).value], 'texts.txt');
        const lines = byId('set-labels', HTMLTextAreaElement).value.split('\n');
        const labels = lines.map((line) => line.trim()).filter((line) => line !== '');
        onCreated(await service.createSet(byId('set-name', HTMLInputElement).value, labels, texts));
        form.reset();
        form.dispatchEvent(new Event('change'));
      } catch (thrown) {
        showProblems(thrown, isFile() ? fileFields : fields, REST);
      } finally {
        button.textContent = 'Start labelling';
      }
    });
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
