import { newBert } from '../../../../src/encoder/index.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { loadTokenizer } from '../../../../src/text/index.js';
import { readEmbeddings } from '../embeddings/make-embeddings.js';
import type { Recipe } from '../recipe.js';
import { SEED } from '../settings.js';
import type { WorkFolder } from '../work-folder.js';
import { readSmallEncoder } from './grow-student.js';
import { sizeInWords } from './shape.js';
import { Student } from './student.js';
import { type StudentSettings, shapeOf } from './student-settings.js';

/**
 * A student at its start, with all the training data that the work folder has so far.
 * @param growFrom folder of a smaller backbone. Default: random weights.
 * @throws Error if the student would be larger than its size may be.
 */
export async function makeStudent(
  recipe: Recipe,
  work: WorkFolder,
  settings: StudentSettings,
  threads: number,
  growFrom?: string,
): Promise<Student> {
  const tokenizer = loadTokenizer(recipe.tokenizer(work));
  const encoder = newBert(shapeOf(settings), tokenizer.vocabularySize);
  console.log(`${recipe.name(settings.size)}, ${settings.shape}: ${sizeInWords(encoder, settings.size)} in bytes`);
  return Student.create({
    executor: onnxExecutor({ threads }),
    encoder,
    objective: recipe.objective(work, encoder, tokenizer, settings.batch),
    wordEmbeddings: readEmbeddings(work, encoder.width),
    ...(growFrom !== undefined && { small: readSmallEncoder(growFrom) }),
    batchSize: settings.batch,
    seed: SEED,
  });
}
