import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { type Geometry, newBert } from '../../../../src/encoder/index.js';
import { type BertTokenizerJson, loadTokenizer } from '../../../../src/text/index.js';
import type { WorkFolder } from '../work-folder.js';
import { devAccuracy } from './fine-tune.js';
import { startingWeights } from './starts.js';

export interface CheckOptions {
  readonly datasets: string;
  /** Names of datasets. */
  readonly tasks: readonly string[];
  /**
   * What the encoder starts from: `random`, `embeddings`, `checkpoint`, `annealed`, or the folder of a finished
   * backbone.
   */
  readonly start: string;
  /** The tokenizer.json of the students. */
  readonly tokenizer: BertTokenizerJson;
  readonly shape: Geometry;
  readonly threads: number;
}

/** Prints the dev accuracy of the encoder alone after fine-tuning, by which recipes are compared. */
export async function checkBackbone(work: WorkFolder, options: CheckOptions): Promise<void> {
  const { tasks, start, datasets, shape, threads } = options;
  const tokenizer = loadTokenizer(options.tokenizer);
  const encoder = newBert(shape, tokenizer.vocabularySize);
  const weights = await startingWeights(work, start, encoder.width);
  for (const task of tasks) {
    const read = readers[task];
    if (read === undefined) throw new Error(`no dataset ${task}: there are ${Object.keys(readers).join(', ')}`);
    const startedAt = performance.now();
    const accuracy = await devAccuracy(read(datasets), { tokenizer, encoder, weights, threads });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${task} from ${start}: dev accuracy ${(100 * accuracy).toFixed(1)} (${seconds} s)`);
  }
}
