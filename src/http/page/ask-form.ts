import { views } from './answer-view.js';
import { announce, byId, element, whileBusy } from './elements.js';
import { exampleQueries } from './example-queries.js';
import { explanationSummary, explanationView } from './explanation-view.js';
import type { ModelChoice } from './model-choice.js';
import { shownProblem } from './problems.js';
import type { Service } from './service.js';

/** Asks the chosen model what is typed, and shows the answer. */
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

/** What the answer that is shown was asked for. */
let answered: { readonly model: string; readonly query: string } | undefined;

/** Shows what moved the answer. */
async function explain(service: Service): Promise<void> {
  if (answered === undefined) return;
  const { model, query } = answered;
  const place = byId('explanation', HTMLElement);
  try {
    const { data } = await service.explain(model, query);
    // Another one may have been asked meanwhile.
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
