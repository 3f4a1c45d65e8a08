import { views } from './answer-view.js';
import { announce, byId, whileBusy } from './elements.js';
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
  query.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
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
    answer.hidden = false;
    announce(view.summary(data));
  } catch (thrown) {
    answer.hidden = true;
    problem.textContent = shownProblem(thrown);
  }
}
