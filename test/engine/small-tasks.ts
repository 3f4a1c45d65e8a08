import { createTaskLearner, type TaskLearner } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { sequenceTask } from '../../src/families/entities/training.js';
import type { TrainingTask } from '../../src/families/index.js';
import { retrievalTask } from '../../src/families/retrieval/training.js';
import { Random } from '../../src/system/numbers.js';
import { loopInput, words } from '../training/loop-input.js';

/** Small trainings of every family, as a learner takes them. */

const random = Random.fromSeed(5);
const sentence = () => Array.from({ length: 3 + random.integer(9) }, () => words[random.integer(10)] ?? '');
const texts = Array.from({ length: 24 }, () => sentence().join(' '));
const passages = texts.map(() => sentence().join(' '));

export function classes(): TrainingTask {
  const rows = texts.map((text) => ({ text, labelIds: [words.indexOf(text.split(' ')[0] ?? '') % 3] }));
  const dataset = { labels: ['a', 'b', 'c'], train: rows, dev: rows, warnings: [] };
  return classificationTask({ kind: 'multiclass', ...dataset }, 'first');
}

export function tags(): TrainingTask {
  const sentences = texts.map((text) => {
    const own = text.split(' ');
    return { words: own, tags: own.map((_, at) => (at % 3 === 0 ? 1 : 0)) };
  });
  return sequenceTask({ tags: ['O', 'B-X'], train: sentences, dev: sentences, warnings: [] });
}

export function pairs(): TrainingTask {
  const questions = texts.map((question, passage) => ({ question, passage }));
  return retrievalTask({ passages, train: questions, dev: questions, warnings: [] });
}

/** With gradients that are summed over several runs in the last one. */
export const smallTasks: readonly (readonly [name: string, make: () => TrainingTask])[] = [
  ['classes of texts', classes],
  ['tags of tokens', tags],
  ['questions and passages', pairs],
];

export type LearnerChanges = Partial<Parameters<typeof createTaskLearner>[0]>;

/** @param dropout of the encoder. */
export function learnerOf(task: TrainingTask, dropout: number, changes: LearnerChanges = {}): Promise<TaskLearner> {
  const input = loopInput(task, '', {}, { dropout });
  const options = input.hyperparameters;
  const { batchSize, language } = options;
  return createTaskLearner({ ...input, head: task.head, options, batchSize, language, ...changes });
}

/** The losses of so many steps. */
export async function lossesOf({ learner }: TaskLearner, steps: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = 0; step < steps; step += 1) losses.push((await learner.step(3e-3)).loss);
  return losses;
}

/** The largest relative difference between two lists of losses. */
export function largestDifference(losses: readonly number[], expected: readonly number[]): number {
  return Math.max(...expected.map((loss, at) => Math.abs((losses[at] ?? Number.NaN) - loss) / loss));
}
