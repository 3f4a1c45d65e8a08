import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { bertConfigOfSize, bertParameters } from '../../../../src/encoder/index.js';
import { englishTokenizer, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { ENCODER_PREFIX } from '../student/distillation-head.js';
import { readStudent } from '../student/student-checkpoint.js';
import type { WorkFolder } from '../work-folder.js';
import { devAccuracy, type Weights } from './fine-tune.js';

export interface CheckOptions {
  readonly datasets: string;
  /** Names of labelled datasets. */
  readonly tasks: readonly string[];
  /** What the encoder starts from: `annealed` or `checkpoint` of the work folder, or `random`. */
  readonly start: string;
  readonly threads: number;
}

/** Prints what the encoder alone reaches on dev after fine-tuning: the measure that recipes are compared by. */
export async function checkBackbone(work: WorkFolder, options: CheckOptions): Promise<void> {
  const { tasks, start, datasets, threads } = options;
  const weights = startWeights(work, start);
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

/** The encoder's weights by BertModel's names; none where it starts at random. */
function startWeights(work: WorkFolder, start: string): Weights {
  if (start === 'random') return new Map();
  const { weights } = readStudent(start === 'annealed' ? work.annealed : work.checkpoint);
  const { vocabularySize } = loadTokenizer(englishTokenizer())._unsafeUnwrap();
  const names = bertParameters(bertConfigOfSize('mini', vocabularySize), ENCODER_PREFIX);
  return new Map(names.map(({ name }) => [name, weights.get(name)?.values ?? new Float32Array()]));
}
