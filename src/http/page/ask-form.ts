import type { AnswerView, InferenceResult, ModelRecord } from '../../contract/index.js';
import { announce, byId, element, shownProblem, shownTime, table, whileBusy } from './elements.js';
import { entitySegments } from './entity-segments.js';
import type { Explanation, PageModels, Service } from './service.js';

export function startAskForm(service: Service, models: ModelChoice): void {
  const form = byId('ask-form', HTMLFormElement);
  const query = byId('query', HTMLTextAreaElement);
  const button = form.querySelector('button');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (button) void whileBusy(button, () => ask(service, models, query.value));
  });
  const choice = byId('model', HTMLSelectElement);
  const showModel = () => {
    const about = aboutOf(models.chosen?.model ?? '');
    const terms = models.chosen?.isRestricted ? 'Not for commercial use.' : '';
    byId('model-note', HTMLElement).textContent = [about?.answers ?? '', terms].join(' ').trim();
    const examples = (about?.examples ?? []).map((text) => {
      const example = element('button', { type: 'button', className: 'example' }, text);
      example.addEventListener('click', () => {
        query.value = text;
        form.requestSubmit();
      });
      return example;
    });
    byId('examples', HTMLElement).replaceChildren(...examples);
    // An answer below another model's name would be taken for its own.
    if (answered?.model !== models.chosen?.model) byId('answer', HTMLElement).hidden = true;
  };
  choice.addEventListener('change', showModel);
  models.onRefresh = showModel;
  showModel();
  const why = byId('explain', HTMLButtonElement);
  why.addEventListener('click', () => void whileBusy(why, () => explain(service)));
  query.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

let answered: { readonly model: string; readonly query: string } | undefined;

async function explain(service: Service): Promise<void> {
  if (answered === undefined) return;
  const { model, query } = answered;
  const place = byId('explanation', HTMLElement);
  const isNewer = () => answered?.query !== query || answered.model !== model;
  try {
    const { data } = await service.explain(model, query);
    if (isNewer()) return;
    place.replaceChildren(explanationView(data, query));
    announce(explanationSummary(data));
  } catch (thrown) {
    if (isNewer()) return;
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
    if (models.chosen?.model !== chosen.model) return; // another was chosen in the meantime
    const view = views[chosen.view];
    byId('answer-content', HTMLElement).replaceChildren(view.shown(data, query));
    const ms = metadata.model_inference_time_ms;
    byId('answer-time', HTMLElement).textContent = `The model took ${ms.toFixed(1)} ms.`;
    answered = { model: chosen.model, query };
    byId('explanation', HTMLElement).replaceChildren();
    answer.hidden = false;
    announce(view.summary(data));
  } catch (thrown) {
    if (models.chosen?.model !== chosen.model) return;
    answer.hidden = true;
    problem.textContent = shownProblem(thrown);
  }
}

export class ModelChoice {
  readonly #select = byId('model', HTMLSelectElement);
  readonly #service: Service;
  /** How the answers of each model are shown, by its path below /predictor/language. */
  readonly #views = new Map<string, AnswerView>();
  readonly #restricted = new Set<string>();
  /** Called when the list, and with it the chosen model, may have changed. */
  onRefresh = () => {};

  constructor(service: Service) {
    this.#service = service;
  }

  /** The chosen model: its path below /predictor/language, how its answers are shown, and whether its use is restricted. */
  get chosen(): { readonly model: string; readonly view: AnswerView; readonly isRestricted: boolean } | undefined {
    const model = this.#select.value;
    const view = this.#views.get(model);
    return view && { model, view, isRestricted: this.#restricted.has(model) };
  }

  /**
   * Lists the current models.
   * @param chosen the id of a custom model to choose; default: the same as before
   * @returns what the service says of its models
   */
  async refresh(chosen?: string): Promise<PageModels> {
    const [known, custom] = await Promise.all([this.#service.pageModels(), this.#service.readyModels()]);
    const { data: installed, answer_views: views } = known;
    const before = chosen === undefined ? this.#select.value : `model/${chosen}`;
    this.#views.clear();
    const pretrained = (isFree: boolean) =>
      installed
        .filter(({ commercial_use }) => commercial_use === isFree)
        .map(({ name, type, bytes }) => this.#option(`pre-trained/${name}`, name + sizeOf(bytes), views[type]));
    const [free, restricted] = [pretrained(true), pretrained(false)];
    for (const { value } of restricted) this.#restricted.add(value);
    const trained = custom.map((model) => this.#option(`model/${model.id}`, nameOf(model), views[model.type]));
    this.#select.replaceChildren(
      ...group('Your models', trained),
      ...group('Pretrained, for any use', free),
      ...group('Pretrained, not for commercial use', restricted),
    );
    if (this.#views.has(before)) this.#select.value = before;
    const isEmpty = this.#views.size === 0;
    byId('no-model', HTMLElement).hidden = !isEmpty;
    this.#select.disabled = isEmpty;
    this.onRefresh();
    return known;
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

function sizeOf(bytes: number | undefined): string {
  return bytes === undefined ? '' : ` (${(bytes / 1e6).toFixed(1)} MB)`;
}

/** Names need not be unique; the time tells which is which. */
function nameOf({ name, created }: ModelRecord): string {
  return `${name} (${shownTime(created)})`;
}

interface About {
  /** What the model answers. */
  readonly answers: string;
  readonly examples: readonly string[];
}

const ofModels: Readonly<Record<string, About>> = {
  'sentiment-classification': {
    answers: 'Whether a text is positive.',
    examples: ['A warm, funny and quietly moving film.', 'The plot is thin, but the actors are wonderful.'],
  },
  'emotion-detection': {
    answers: 'Which emotions a text shows.',
    examples: ['I can’t believe you did that for me, thank you!', 'Leave me alone.'],
  },
  'customer-review': {
    answers: 'Whether a review is positive.',
    examples: ['The battery lasts for days.', 'It broke after a week and nobody answers.'],
  },
  'toxicity-detection': {
    answers: 'Whether a text is insulting, threatening or obscene.',
    examples: ['You are a wonderful person.', 'Shut up, you idiot.'],
  },
  'news-classification': {
    answers: 'The topic of a news text.',
    examples: ['The central bank raises interest rates again.', 'The striker scored twice in the final minutes.'],
  },
  'financial-sentiment-analysis': {
    answers: 'Whether financial news is good news.',
    examples: ['Shares fall as profits miss expectations.', 'Revenue doubles in a year.'],
  },
  'financial-customer-support': {
    answers: 'What a bank’s customer asks for.',
    examples: ['My card still hasn’t arrived.', 'Why was I charged twice for one payment?'],
  },
  'named-entity-recognition': {
    answers: 'Which people, places and organizations a text names.',
    examples: ['Angela Merkel met the head of Siemens in Berlin.', 'Apple opens a shop in Paris.'],
  },
  'research-papers-search': {
    answers: 'Which abstracts of research papers answer a question.',
    examples: ['How can machine translation handle rare words?', 'detecting sarcasm in short messages'],
  },
  'conversational-language-understanding-english': {
    answers: 'What a user asks an assistant to do.',
    examples: ['Wake me up at seven tomorrow.', 'Play some jazz.'],
  },
  'conversational-language-understanding-japanese': {
    answers: 'What a user asks an assistant to do, in Japanese.',
    examples: ['明日の朝七時に起こして', 'ジャズをかけて'],
  },
};

/** @param model its path below /predictor/language. */
function aboutOf(model: string): About | undefined {
  return ofModels[model.replace('pre-trained/', '')];
}

const SHOWN_LABELS = 10;
const ENTITY_STYLES = 6;

interface View {
  shown(result: InferenceResult, query: string): HTMLElement;
  /** For screen readers. */
  summary(result: InferenceResult): string;
}

const views: Readonly<Record<AnswerView, View>> = {
  labels: {
    shown: bars,
    summary: ({ labels: [best = 'nothing'], scores: [score = 0] }) => `The answer is ${best}, ${percent(score)}.`,
  },
  entities: {
    shown: entities,
    summary: ({ labels, tokens = [] }) => {
      const found = tokens.map((token, at) => `${token}, ${labels[at]}`).join('; ');
      return found === '' ? 'No entities found.' : `${tokens.length} found: ${found}.`;
    },
  },
  passages: {
    shown: passages,
    summary: ({ labels }) =>
      `${labels.length} passage${labels.length === 1 ? '' : 's'} found. The first: ${labels[0] ?? 'nothing'}`,
  },
};

function bars({ labels, scores }: InferenceResult): HTMLElement {
  const rows = labels.map((label, at) => bar(label, scores[at] ?? 0));
  const shown = element('ol', { className: 'bars' }, ...rows.slice(0, SHOWN_LABELS));
  if (rows.length <= SHOWN_LABELS) return shown;
  const rest = element('ol', { className: 'bars', start: SHOWN_LABELS + 1 }, ...rows.slice(SHOWN_LABELS));
  const summary = element('summary', {}, `${rows.length - SHOWN_LABELS} more`);
  return element('div', {}, shown, element('details', {}, summary, rest));
}

function bar(label: string, score: number): HTMLElement {
  const filled = element('span', { className: 'filled' });
  filled.style.inlineSize = `${score * 100}%`;
  const track = element('span', { className: 'track', ariaHidden: 'true' }, filled);
  const row = [element('span', { className: 'label' }, label), track, element('span', {}, percent(score))];
  return element('li', {}, ...row);
}

function entities(result: InferenceResult, query: string): HTMLElement {
  const kinds = [...new Set(result.labels)];
  const pieces = entitySegments(query, result).map(({ text, label, score }) => {
    if (label === undefined) return text;
    const style = `entity style-${kinds.indexOf(label) % ENTITY_STYLES}`;
    const name = element('span', { className: 'kind' }, label);
    const title = `${label}, ${percent(score ?? 0)}`;
    return element('mark', { className: style, title }, text, ' ', name);
  });
  const text = element('p', { className: 'entities' }, ...pieces);
  if (kinds.length === 0) return element('div', {}, text, element('p', {}, 'No entities found.'));
  return element('div', {}, text, entityTable(result));
}

function entityTable({ tokens = [], labels, scores }: InferenceResult): HTMLElement {
  return table(
    { columns: ['Entity', 'Type', 'Score'] },
    tokens.map((token, at) => [[token], labels[at] ?? '', { number: percent(scores[at] ?? 0) }]),
  );
}

function passages({ labels, scores }: InferenceResult): HTMLElement {
  const items = labels.map((passage, at) =>
    element(
      'li',
      {},
      passageView(passage),
      element('p', { className: 'note' }, `score ${(scores[at] ?? 0).toFixed(3)}`),
    ),
  );
  return element('ol', { className: 'passages' }, ...items);
}

function passageView(passage: string): HTMLElement {
  const text = shortened(passage);
  if (text === passage) return element('p', {}, passage);
  const summary = element('summary', {}, 'The whole passage');
  return element('div', {}, element('p', {}, text), element('details', {}, summary, element('p', {}, passage)));
}

/** UTF-16 code units of a passage before it is folded. */
const SHOWN_CHARACTERS = 280;

function shortened(passage: string): string {
  if (passage.length <= SHOWN_CHARACTERS * 1.2) return passage;
  const start = passage.slice(0, SHOWN_CHARACTERS);
  const sentence = Math.max(...['. ', '? ', '! ', '。'].map((end) => start.lastIndexOf(end)));
  if (sentence > SHOWN_CHARACTERS / 3) return `${start.slice(0, sentence + 1)} …`;
  return `${start.slice(0, Math.max(start.lastIndexOf(' '), SHOWN_CHARACTERS / 2)).trimEnd()} …`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}\u00a0%`;
}

type ExplainedAnswer = Explanation['explained'][number];
type ExplainedWord = ExplainedAnswer['words'][number];

/** Words with less than this share of the largest weight stay uncoloured. */
const LEAST_SHARE = 0.15;
/** Strongest colour, in per cent: the word must stay readable. */
const MOST_COLOUR = 45;
/** How many words the summary names, and the least share of the largest weight that they have. */
const NAMED_WORDS = 3;
const NAMED_SHARE = 0.25;
const SHOWN_ANSWERS = 3;

function explanationView({ explained }: Explanation, query: string): HTMLElement {
  const legend = element(
    'p',
    { className: 'note' },
    element('mark', { className: 'for' }, 'Green'),
    ' counts towards the answer, ',
    element('mark', { className: 'against' }, 'orange'),
    ' against it; the paler the word, the smaller its effect.',
  );
  if (explained.length === 0) return element('p', { className: 'note' }, 'There is no answer to explain.');
  const [first, rest] = [explained.slice(0, SHOWN_ANSWERS), explained.slice(SHOWN_ANSWERS)];
  const shown = first.map((answer) => answerView(answer, query));
  if (rest.length === 0) return element('div', {}, ...shown, legend);
  const summary = element('summary', {}, `${rest.length} more`);
  const others = element('details', {}, summary, ...rest.map((answer) => answerView(answer, query)));
  return element('div', {}, ...shown, legend, others);
}

/** For screen readers. */
function explanationSummary({ explained: [first] }: Explanation): string {
  if (first === undefined) return 'There is no answer to explain.';
  const heaviest = heaviestWords(first);
  if (heaviest.length === 0) return 'No word counts towards the answer.';
  return `What counts most towards the answer: ${heaviest.join(', ')}.`;
}

function answerView(answer: ExplainedAnswer, query: string): HTMLElement {
  const name = element('strong', {}, cut(answer.answer));
  const heaviest = heaviestWords(answer);
  const summary = heaviest.length === 0 ? 'no word counts towards it' : `mostly ${heaviest.join(', ')}`;
  return element(
    'div',
    { className: 'explained' },
    element('p', {}, name, `: ${summary}.`),
    element('p', { className: 'words', dir: 'auto' }, ...colouredWords(answer.words, query)),
  );
}

function heaviestWords({ words }: ExplainedAnswer): string[] {
  const most = heaviestOf(words);
  return words
    .filter(({ weight }) => weight > NAMED_SHARE * most)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, NAMED_WORDS)
    .map(({ word }) => `“${word}”`);
}

function colouredWords(words: readonly ExplainedWord[], query: string): (Node | string)[] {
  const most = heaviestOf(words);
  const pieces: (Node | string)[] = [];
  let end = 0;
  for (const { word, start, weight } of words) {
    const share = most === 0 ? 0 : Math.abs(weight) / most;
    if (share < LEAST_SHARE) continue;
    pieces.push(query.slice(end, start));
    end = start + word.length;
    const title = `${weight > 0 ? '+' : '−'}${Math.abs(weight).toFixed(2)}`;
    const mark = element('mark', { className: weight > 0 ? 'for' : 'against', title }, word);
    mark.style.setProperty('--strength', `${Math.round(share * MOST_COLOUR)}%`);
    pieces.push(mark);
  }
  return [...pieces, query.slice(end)];
}

function heaviestOf(words: readonly ExplainedWord[]): number {
  return words.reduce((most, { weight }) => Math.max(most, Math.abs(weight)), 0);
}

/** Passages are long, and are shown above. */
function cut(answer: string): string {
  return answer.length > 80 ? `${answer.slice(0, 79).trimEnd()}…` : answer;
}
