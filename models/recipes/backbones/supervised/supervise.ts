import type { ModelSize } from '../../../../src/contract/index.js';
import { bertConfigOfSize } from '../../../../src/encoder/index.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import { type BertTokenizerJson, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { MeasuredTexts } from '../corpus/measured-texts.js';
import { learningSettings, SEED, supervisedSettings } from '../settings.js';
import { readSmallEncoder } from '../student/grow-student.js';
import { learnOnce } from '../student/learn.js';
import { Student } from '../student/student.js';
import type { WorkFolder } from '../work-folder.js';
import { type LabelledSet, readLabelledSets } from './labelled-set.js';
import { supervised } from './supervised.js';

export interface SuperviseOptions {
  readonly sets: readonly LabelledSet[];
  readonly datasets: string;
  /** Texts that models are measured on. */
  readonly measured: Iterable<string>;
  /** The tokenizer.json of the students. */
  readonly tokenizer: BertTokenizerJson;
  /** Folder of the backbone that goes on learning. */
  readonly start: string;
  readonly size: ModelSize;
  readonly threads: number;
}

/** A backbone goes on to learn the labels of many sets; the result is the work folder's annealed student. */
export async function supervise(work: WorkFolder, options: SuperviseOptions): Promise<void> {
  const { sets, datasets, measured, start, size, threads } = options;
  const tokenizer = loadTokenizer(options.tokenizer)._unsafeUnwrap();
  const config = bertConfigOfSize(size, tokenizer.vocabularySize);
  const random = Random.fromSeed(SEED);
  const labelled = await readLabelledSets(sets, {
    datasets,
    measured: new MeasuredTexts(measured),
    shuffle: (rows) => random.shuffle(rows),
  });
  const { batchSize } = learningSettings;
  const objective = supervised({
    config,
    tokenizer,
    labelled,
    validationRows: VALIDATION_ROWS,
    batchSize,
    seed: SEED,
  });
  const student = await Student.create({
    executor: onnxExecutor(),
    threads,
    config,
    objective,
    small: readSmallEncoder(start),
    batchSize,
    seed: SEED,
  });
  const { epochs } = supervisedSettings;
  const steps = epochs * Math.ceil(objective.lengths.length / batchSize);
  await learnOnce(student, work, steps, supervisedSettings, supervisedCurve);
  await student.release();
}

/** Rows of all sets together that tell how well it learns. */
const VALIDATION_ROWS = 2048;

export const supervisedCurve = { axis: 'cross-entropy', measures: { labels: 'labels' } } as const;
