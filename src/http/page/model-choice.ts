import type { AnswerView, ModelRecord } from '../../contract/index.js';
import { byId, element, shownTime } from './elements.js';
import type { Service } from './service.js';

/** The models that can be asked, to choose from. */
export class ModelChoice {
  readonly #select = byId('model', HTMLSelectElement);
  readonly #service: Service;
  /** How the answers of each model are shown, by its path below /predictor/language. */
  readonly #views = new Map<string, AnswerView>();

  constructor(service: Service) {
    this.#service = service;
  }

  /** What is chosen: its path below /predictor/language, and how its answers are shown. */
  get chosen(): { readonly model: string; readonly view: AnswerView } | undefined {
    const model = this.#select.value;
    const view = this.#views.get(model);
    return view && { model, view };
  }

  /** Shows what there is now. @param chosen the id of a custom model; default: what is chosen already. */
  async refresh(chosen?: string): Promise<void> {
    const [{ data: installed, answer_views: views }, custom] = await Promise.all([
      this.#service.pageModels(),
      this.#service.readyModels(),
    ]);
    const before = chosen === undefined ? this.#select.value : `model/${chosen}`;
    this.#views.clear();
    const catalogue = installed.map(({ name, type }) =>
      this.#option(`pre-trained/${name}`, name, views[type]),
    );
    const trained = custom.map((model) =>
      this.#option(`model/${model.id}`, nameOf(model), views[model.type]),
    );
    this.#select.replaceChildren(...group('Your models', trained), ...group('Catalogue', catalogue));
    if (this.#views.has(before)) this.#select.value = before;
    const isEmpty = this.#views.size === 0;
    byId('no-model', HTMLElement).hidden = !isEmpty;
    this.#select.disabled = isEmpty;
  }

  /** @param view of a type that the service does not know: any answer has labels. */
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
