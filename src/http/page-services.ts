import type { Account, InferenceResponse } from '../contract/index.js';
import type { Explanation } from '../families/index.js';
import type { ExplainOptions } from '../inference/index.js';
import { ReadyModels } from '../jobs/index.js';
import type { ModelLoader } from '../model-loader/index.js';
import type { Predictor } from '../predictor/index.js';
import type { Storage } from '../storage/index.js';
import type { Trainer } from '../trainer/index.js';
import type { DatasetUploads } from './dataset-uploads.js';
import { type InstalledModel, installedModels } from './installed-models.js';
import { outcomeOf } from './services.js';

/** What only the page at / asks for. */
export interface PageServices {
  /** The contract's pretrained models that answer here. */
  installedModels(): Promise<readonly InstalledModel[]>;
  readonly uploads: DatasetUploads;
  /** An answer of a model with what moved it. @param model `pre-trained/<name>` or `model/<id>`. @throws OrchardError */
  explain(
    account: Account,
    model: string,
    query: string,
    options: ExplainOptions,
  ): Promise<InferenceResponse<Explanation>>;
  /** The report of an account's model, as HTML. @throws OrchardError */
  report(account: Account, id: string): Promise<string>;
  /** The folder of an account's model. @throws OrchardError */
  modelFolder(account: Account, id: string): Promise<string>;
}

/** What they are made of. */
export interface PageSources {
  readonly modelLoader: ModelLoader;
  readonly uploads: DatasetUploads;
  readonly storage: Storage;
  readonly trainer: (account: Account) => Pick<Trainer, 'report'>;
  readonly predictor: (account: Account) => Pick<Predictor, 'explainCustom' | 'explainPretrained'>;
}

export function pageServices({
  modelLoader,
  uploads,
  storage,
  trainer,
  predictor,
}: PageSources): PageServices {
  return {
    installedModels: () => installedModels(modelLoader),
    uploads,
    explain(account, model, query, options) {
      const [, kind, name = ''] = /^(pre-trained|model)\/(.+)$/.exec(model) ?? [];
      if (kind === 'model') return outcomeOf(predictor(account).explainCustom(name, query, options));
      return outcomeOf(
        predictor(account).explainPretrained(kind === undefined ? model : name, query, options),
      );
    },
    report: (account, id) => outcomeOf(trainer(account).report(id)),
    async modelFolder({ app_id }, id) {
      const ready = new ReadyModels(storage, app_id, { gone: () => undefined });
      try {
        return await ready.directoryOf(id);
      } finally {
        ready.close();
      }
    },
  };
}
