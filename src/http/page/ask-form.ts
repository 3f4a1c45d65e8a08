import type { AnswerView, ModelRecord } from '../../contract/index.js';
import { explanationSummary, explanationView, views } from './answer-view.js';
import { announce, byId, element, shownProblem, shownTime, whileBusy } from './elements.js';
import type { Service } from './service.js';

/** Sends the text to the chosen model, and shows the answer. */
export function startAskForm(service: Service, models: ModelChoice): void {
  const form = byId('ask-form', HTMLFormElement);
  const query = byId('query', HTMLTextAreaElement);
  const button = form.querySelector('button');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (button) void whileBusy(button, () => ask(service, models, query.value));
  });
  const choice = byId('model', HTMLSelectElement);
  const showExamples = () => {
    const examples = exampleQueries(models.chosen?.model ?? '').map((text) => {
      const example = element('button', { type: 'button', className: 'example' }, text);
      example.addEventListener('click', () => {
        query.value = text;
        form.requestSubmit();
      });
      return example;
    });
    byId('examples', HTMLElement).replaceChildren(...examples);
  };
  choice.addEventListener('change', showExamples);
  showExamples();
  const why = byId('explain', HTMLButtonElement);
  why.addEventListener('click', () => void whileBusy(why, () => explain(service)));
  query.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

/** The query of the answer on the page. */
let answered: { readonly model: string; readonly query: string } | undefined;

/** Shows which words influenced the answer. */
async function explain(service: Service): Promise<void> {
  if (answered === undefined) return;
  const { model, query } = answered;
  const place = byId('explanation', HTMLElement);
  try {
    const { data } = await service.explain(model, query);
    // There may be a newer answer.
    if (answered.query !== query || answered.model !== model) return;
    place.replaceChildren(explanationView(data, query));
    announce(explanationSummary(data));
  } catch (thrown) {
    place.replaceChildren(element('p', { className: 'problem', role: 'alert' }, shownProblem(thrown)));
  }
}

async function ask(service: Service, models: ModelChoice, query: string): Promise<void> {
  const { chosen } = models;
  if (chosen === undefined) return;
  const problem = byId('ask-problem', HTMLElement);
  const answer = byId('answer', HTMLElement);
  problem.textContent = '';
  try {
    const { data, metadata } = await service.predict(chosen.model, query);
    const view = views[chosen.view];
    byId('answer-content', HTMLElement).replaceChildren(view.shown(data, query));
    const ms = metadata.model_inference_time_ms;
    byId('answer-time', HTMLElement).textContent = `The model took ${ms.toFixed(1)} ms.`;
    answered = { model: chosen.model, query };
    byId('explanation', HTMLElement).replaceChildren();
    answer.hidden = false;
    announce(view.summary(data));
  } catch (thrown) {
    answer.hidden = true;
    problem.textContent = shownProblem(thrown);
  }
}

/** The select of models. */
export class ModelChoice {
  readonly #select = byId('model', HTMLSelectElement);
  readonly #service: Service;
  /** How the answers of each model are shown, by its path below /predictor/language. */
  readonly #views = new Map<string, AnswerView>();

  constructor(service: Service) {
    this.#service = service;
  }

  /** The chosen model: its path below /predictor/language, and how its answers are shown. */
  get chosen(): { readonly model: string; readonly view: AnswerView } | undefined {
    const model = this.#select.value;
    const view = this.#views.get(model);
    return view && { model, view };
  }

  /** Lists the current models. @param chosen the id of a custom model to choose; default: the same as before */
  async refresh(chosen?: string): Promise<void> {
    const [{ data: installed, answer_views: views }, custom] = await Promise.all([
      this.#service.pageModels(),
      this.#service.readyModels(),
    ]);
    const before = chosen === undefined ? this.#select.value : `model/${chosen}`;
    this.#views.clear();
    const catalogue = installed.map(({ name, type }) => this.#option(`pre-trained/${name}`, name, views[type]));
    const trained = custom.map((model) => this.#option(`model/${model.id}`, nameOf(model), views[model.type]));
    this.#select.replaceChildren(...group('Your models', trained), ...group('Catalogue', catalogue));
    if (this.#views.has(before)) this.#select.value = before;
    const isEmpty = this.#views.size === 0;
    byId('no-model', HTMLElement).hidden = !isEmpty;
    this.#select.disabled = isEmpty;
  }

  /** @param view default: every answer has labels */
  #option(model: string, text: string, view: AnswerView = 'labels'): HTMLOptionElement {
    this.#views.set(model, view);
    return element('option', { value: model }, text);
  }
}

function group(label: string, options: readonly HTMLOptionElement[]): HTMLOptGroupElement[] {
  return options.length === 0 ? [] : [element('optgroup', { label }, ...options)];
}

/** Names need not be unique; the time tells which is which. */
function nameOf({ name, created }: ModelRecord): string {
  return `${name} (${shownTime(created)})`;
}

/** Texts to try pretrained models on, by their names. */
const ofModels: Readonly<Record<string, readonly string[]>> = {
  'sentiment-classification': [
    'A warm, funny and quietly moving film.',
    'The plot is thin, but the actors are wonderful.',
  ],
  'emotion-detection': ['I can’t believe you did that for me, thank you!', 'Leave me alone.'],
  'customer-review': ['The battery lasts for days.', 'It broke after a week and nobody answers.'],
  'toxicity-detection': ['You are a wonderful person.', 'Shut up, you idiot.'],
  'news-classification': [
    'The central bank raises interest rates again.',
    'The striker scored twice in the final minutes.',
  ],
  'financial-sentiment-analysis': ['Shares fall as profits miss expectations.', 'Revenue doubles in a year.'],
  'financial-customer-support': ['My card still hasn’t arrived.', 'Why was I charged twice for one payment?'],
  'named-entity-recognition': ['Angela Merkel met the head of Siemens in Berlin.', 'Apple opens a shop in Paris.'],
  'research-papers-search': ['How can machine translation handle rare words?', 'detecting sarcasm in short messages'],
  'conversational-language-understanding-english': ['Wake me up at seven tomorrow.', 'Play some jazz.'],
  'conversational-language-understanding-japanese': ['明日の朝七時に起こして', 'ジャズをかけて'],
};

/** @param model its path below /predictor/language. */
function exampleQueries(model: string): readonly string[] {
  return ofModels[model.replace('pre-trained/', '')] ?? [];
}
