import { type ModelSize, modelSizeSchema } from '../../../src/contract/index.js';
import { newEncoder } from '../../../src/encoder/index.js';
import { checkBackbone } from './check/check-backbone.js';
import { makeEmbeddings } from './embeddings/make-embeddings.js';
import { exportBackbone } from './export-backbone.js';
import { floatBackbone } from './float-backbone.js';
import type { Recipe } from './recipe.js';
import { anneal, learn } from './student/learn.js';
import { makeStudent } from './student/make-student.js';
import type { Student } from './student/student.js';
import { WorkFolder } from './work-folder.js';

/** Options that every language's command takes. */
export const commonOptions = {
  work: { type: 'string' },
  datasets: { type: 'string' },
  size: { type: 'string', default: 'mini' },
  threads: { type: 'string', default: '2' },
  minutes: { type: 'string', default: '30' },
  steps: { type: 'string', default: '1000' },
  start: { type: 'string', default: 'annealed' },
  grow: { type: 'string' },
} as const;

type Values = Readonly<Partial<Record<keyof typeof commonOptions | 'tasks', string>>>;

/** One step of a recipe. @param work where the results of earlier steps are found. */
export type Step = (work: WorkFolder) => Promise<void>;

/** The steps that don't depend on the language. */
export function commonSteps(
  recipe: Recipe,
  values: Values,
): Record<'embeddings' | 'learn' | 'anneal' | 'export' | 'float' | 'check', Step> {
  const threads = Number(values.threads);
  const size: ModelSize = modelSizeSchema.parse(values.size);
  const withStudent = async (work: WorkFolder, use: (student: Student) => Promise<void>) => {
    const student = await makeStudent(recipe, work, size, threads, values.grow);
    await use(student);
    await student.release();
  };
  return {
    embeddings: (work) => makeEmbeddings(work, recipe.tokenizer(work), newEncoder(size, 1).width, threads),
    learn: (work) =>
      withStudent(work, (student) => learn(student, work, Number(values.minutes), recipe.curve)),
    anneal: (work) => withStudent(work, (student) => anneal(student, work, Number(values.steps))),
    export: (work) => exportBackbone(recipe, work, size, { grownFrom: values.grow }),
    float: async (work) => floatBackbone(recipe, work, size),
    check: (work) =>
      checkBackbone(work, {
        datasets: given(values.datasets, 'datasets'),
        tasks: given(values.tasks, 'tasks').split(','),
        start: given(values.start, 'start'),
        tokenizer: recipe.tokenizer(work),
        size,
        threads,
      }),
  };
}

/** Runs the step that the command line names. */
export async function runStep(
  steps: Readonly<Record<string, Step>>,
  [name = '']: readonly string[],
  work: string | undefined,
): Promise<void> {
  const step = steps[name];
  if (step === undefined) throw new Error(`name one step: ${Object.keys(steps).join(', ')}`);
  await step(new WorkFolder(given(work, 'work')));
}

/** @throws Error if an option that a step needs was left out. */
export function given(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`give --${name}`);
  return value;
}
