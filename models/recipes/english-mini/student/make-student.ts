import { bertConfigOfSize } from '../../../../src/encoder/index.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { englishTokenizer, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { readEmbeddings } from '../embeddings/make-embeddings.js';
import { distillationSettings, SEED } from '../settings.js';
import { readTargetShard } from '../teacher/target-shard.js';
import type { WorkFolder } from '../work-folder.js';
import { Student } from './student.js';

/** A student at its start, with all texts that the teacher has spoken about so far. */
export async function makeStudent(work: WorkFolder, threads: number): Promise<Student> {
  const { batchSize, validationTexts } = distillationSettings;
  const tokenizer = loadTokenizer(englishTokenizer())._unsafeUnwrap();
  const texts = work.targetShards().flatMap(readTargetShard);
  const [first] = texts;
  if (first === undefined) throw new Error(`${work.path}: no targets; run the step "targets" first`);
  return Student.create({
    executor: onnxExecutor(),
    threads,
    config: bertConfigOfSize('mini', tokenizer.vocabularySize),
    tokenizer,
    train: texts.slice(validationTexts),
    validation: texts.slice(0, validationTexts),
    teacherWidth: first.vectors.length / (1 + first.spans.length),
    wordEmbeddings: readEmbeddings(work),
    batchSize,
    seed: SEED,
  });
}
