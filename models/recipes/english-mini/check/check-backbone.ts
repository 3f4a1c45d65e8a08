import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { readEmbeddings, WORD_EMBEDDINGS } from '../embeddings/make-embeddings.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';
import { devAccuracy, type Weights } from './fine-tune.js';

export interface CheckOptions {
  readonly datasets: string;
  /** Names of labelled datasets. */
  readonly tasks: readonly string[];
  /** A name in {@link starts}. */
  readonly start: string;
  readonly threads: number;
}

/** What an encoder can start from: weights by the names of a bare BertModel; others are random. */
const starts: Readonly<Record<string, (work: WorkFolder) => Weights>> = {
  random: () => new Map(),
  embeddings: (work) => new Map([[WORD_EMBEDDINGS, readEmbeddings(work)]]),
  checkpoint: (work) => studentWeights(work.checkpoint),
  annealed: (work) => studentWeights(work.annealed),
};

function studentWeights(file: string): Weights {
  return new Map([...readStudent(file).weights].map(([name, { values }]) => [name, values]));
}

/** Prints what the encoder alone reaches on dev after fine-tuning: the measure that recipes are compared by. */
export async function checkBackbone(work: WorkFolder, options: CheckOptions): Promise<void> {
  const { tasks, start, datasets, threads } = options;
  const weights = starts[start]?.(work);
  if (weights === undefined)
    throw new Error(`no start ${start}: there are ${Object.keys(starts).join(', ')}`);
  for (const task of tasks) {
    const read = readers[task];
    if (read === undefined)
      throw new Error(`no dataset ${task}: there are ${Object.keys(readers).join(', ')}`);
    const startedAt = performance.now();
    const accuracy = await devAccuracy(read(datasets), weights, threads);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${task} from ${start}: dev accuracy ${(100 * accuracy).toFixed(1)} (${seconds} s)`);
  }
}
