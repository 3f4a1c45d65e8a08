import type { ModelSize } from '../../../../src/contract/index.js';
import { newEncoder } from '../../../../src/encoder/index.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { loadTokenizer } from '../../../../src/tokenizer/index.js';
import { readEmbeddings } from '../embeddings/make-embeddings.js';
import type { Recipe } from '../recipe.js';
import { learningSettings, SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { readSmallEncoder } from './grow-student.js';
import { Student } from './student.js';

/**
 * A student at its start, with all the training data that the work folder has so far.
 * @param growFrom folder of a smaller backbone. Default: random weights.
 */
export async function makeStudent(
  recipe: Recipe,
  work: WorkFolder,
  size: ModelSize,
  threads: number,
  growFrom?: string,
): Promise<Student> {
  const tokenizer = loadTokenizer(recipe.tokenizer(work));
  const encoder = newEncoder(size, tokenizer.vocabularySize);
  return Student.create({
    executor: onnxExecutor({ threads }),
    encoder,
    objective: recipe.objective(work, encoder, tokenizer),
    wordEmbeddings: readEmbeddings(work, encoder.width),
    ...(growFrom !== undefined && { small: readSmallEncoder(growFrom) }),
    batchSize: learningSettings.batchSize,
    seed: SEED,
  });
}
