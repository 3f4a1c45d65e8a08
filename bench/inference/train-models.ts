import { fileStorage, type ModelConfig, type ModelSize, Trainer } from 'orchard-nlp';
import { account } from './account.js';
import type { Task } from './protocol.js';

/** Enough for the taggers to find entities and for 8 bits to hold on dev; speed does not depend on how well. */
const EPOCHS = 6;

/** One model of each family, on an archive in examples/. */
export const kinds = {
  classification: {
    dataset: 'customer-reviews',
    task: 'text-classification',
    model: { type: 'binary-text-classification', family: 'Papaya' },
  },
  tagging: {
    dataset: 'news-entities',
    task: 'token-classification',
    model: { type: 'sequence-labeling', family: 'Grapefruit' },
  },
  retrieval: {
    dataset: 'library-questions',
    task: 'feature-extraction',
    model: { type: 'question-answering', family: 'Dragonfruit' },
  },
} as const satisfies Record<string, Kind>;
export type KindName = keyof typeof kinds;

interface Kind {
  readonly dataset: string;
  readonly task: Task;
  readonly model: Pick<ModelConfig, 'type' | 'family'>;
}

export interface TrainingChoice {
  readonly size: ModelSize;
  readonly threads: number;
  /** Whether the folder gets an 8-bit graph too, if that holds on dev. */
  readonly quantize: boolean;
}

/** Trains one model into a storage. In lower case, both start from the bundled vocabulary. @returns its id. */
export async function trainModel(folder: string, kind: KindName, choice: TrainingChoice): Promise<string> {
  const { size, threads, quantize } = choice;
  const { dataset, model } = kinds[kind];
  await using trainer = new Trainer({ storage: fileStorage(folder), account, threads, tuning: { quantize } });
  const request = {
    dataset_url: new URL(`../../examples/${dataset}`, import.meta.url).href,
    model_config: { name: 'bench', size, ...model },
    training_config: { use_pretrained: false, num_epochs: EPOCHS },
  };
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  const { status, error } = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  if (status !== 'READY') throw new Error(`${dataset}: ${status} ${error?.message}`);
  return id;
}
