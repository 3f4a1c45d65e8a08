import type { ModelRecord, ModelType } from '../../contract/index.js';
import { byId, element, shownTime } from './elements.js';
import type { Service } from './service.js';

/** The models that can be asked, to choose from. */
export class ModelChoice {
  readonly #select = byId('model', HTMLSelectElement);
  readonly #types = new Map<string, ModelType>();

  constructor(private readonly service: Service) {}

  /** What is chosen: its path below /predictor/language, and what it does. */
  get chosen(): { readonly model: string; readonly type: ModelType } | undefined {
    const model = this.#select.value;
    const type = this.#types.get(model);
    return type && { model, type };
  }

  /** Shows what there is now. @param chosen the id of a custom model; default: what is chosen already. */
  async refresh(chosen?: string): Promise<void> {
    const [installed, custom] = await Promise.all([
      this.service.installedModels(),
      this.service.readyModels(),
    ]);
    const before = chosen === undefined ? this.#select.value : `model/${chosen}`;
    this.#types.clear();
    const catalogue = installed.map(({ name, type }) => this.#option(`pre-trained/${name}`, name, type));
    const trained = custom.map((model) => this.#option(`model/${model.id}`, nameOf(model), model.type));
    this.#select.replaceChildren(...group('Your models', trained), ...group('Catalogue', catalogue));
    if (this.#types.has(before)) this.#select.value = before;
    const isEmpty = this.#types.size === 0;
    byId('no-model', HTMLElement).hidden = !isEmpty;
    this.#select.disabled = isEmpty;
  }

  #option(model: string, text: string, type: ModelType): HTMLOptionElement {
    this.#types.set(model, type);
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
