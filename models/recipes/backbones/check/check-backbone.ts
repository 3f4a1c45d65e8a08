import { readers } from '../../../../bench/datasets/labelled-texts.js';
import type { ModelSize } from '../../../../src/contract/index.js';
import { newEncoder } from '../../../../src/encoder/index.js';
import type { Weights } from '../../../../src/engine/index.js';
import { type BertTokenizerJson, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { readEmbeddings, WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';
import { devAccuracy } from './fine-tune.js';

export interface CheckOptions {
  readonly datasets: string;
  /** Names of labelled datasets. */
  readonly tasks: readonly string[];
  /** A key of {@link starts}. */
  readonly start: string;
  /** The tokenizer.json of the students. */
  readonly tokenizer: BertTokenizerJson;
  readonly size: ModelSize;
  readonly threads: number;
}

/** What an encoder can start from: weights by BertModel's names; all others are random. */
const starts: Readonly<Record<string, (work: WorkFolder, width: number) => Promise<Weights>>> = {
  random: async () => new Map(),
  embeddings: async (work, width) => new Map([[WORD_EMBEDDINGS, readEmbeddings(work, width)]]),
  checkpoint: (work) => studentWeights(work.checkpoint),
  annealed: (work) => studentWeights(work.annealed),
};

async function studentWeights(file: string): Promise<Weights> {
  const { weights } = await readStudent(file);
  return new Map([...weights].map(([name, { values }]) => [name, values]));
}

/** Prints the dev accuracy of the encoder alone after fine-tuning, by which recipes are compared. */
export async function checkBackbone(work: WorkFolder, options: CheckOptions): Promise<void> {
  const { tasks, start, datasets, size, threads } = options;
  const tokenizer = loadTokenizer(options.tokenizer);
  const encoder = newEncoder(size, tokenizer.vocabularySize);
  const weights = await starts[start]?.(work, encoder.width);
  if (weights === undefined)
    throw new Error(`no start ${start}: there are ${Object.keys(starts).join(', ')}`);
  for (const task of tasks) {
    const read = readers[task];
    if (read === undefined)
      throw new Error(`no dataset ${task}: there are ${Object.keys(readers).join(', ')}`);
    const startedAt = performance.now();
    const accuracy = await devAccuracy(read(datasets), { tokenizer, encoder, weights, threads });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${task} from ${start}: dev accuracy ${(100 * accuracy).toFixed(1)} (${seconds} s)`);
  }
}
