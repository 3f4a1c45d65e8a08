import { pathToFileURL } from 'node:url';
import { newBert } from '../../../src/encoder/index.js';
import { loadTokenizer } from '../../../src/text/index.js';
import { checkBackbone } from './check/check-backbone.js';
import { probeBackbone } from './check/probe-backbone.js';
import { makeEmbeddings } from './embeddings/make-embeddings.js';
import { BACKBONES, exportBackbone } from './export-backbone.js';
import { floatBackbone } from './float-backbone.js';
import type { Recipe } from './recipe.js';
import { anneal, learn } from './student/learn.js';
import { makeStudent } from './student/make-student.js';
import { parseShape, sizeInWords } from './student/shape.js';
import type { Student } from './student/student.js';
import { shapeOf, sizeIn, studentSettings } from './student/student-settings.js';
import { WorkFolder } from './work-folder.js';

/** Options that every language's command takes. */
export const commonOptions = {
  work: { type: 'string' },
  shared: { type: 'string' },
  datasets: { type: 'string' },
  size: { type: 'string' },
  shape: { type: 'string' },
  batch: { type: 'string' },
  threads: { type: 'string', default: '2' },
  minutes: { type: 'string', default: '30' },
  steps: { type: 'string', default: '1000' },
  start: { type: 'string' },
  grow: { type: 'string' },
  backbones: { type: 'string' },
} as const;

type Values = Readonly<Partial<Record<keyof typeof commonOptions | 'tasks', string>>>;

/** One step of a recipe. @param work where the results of earlier steps are found. */
export type Step = (work: WorkFolder) => Promise<void>;

type CommonStep = 'embeddings' | 'size' | 'learn' | 'anneal' | 'export' | 'float' | 'check' | 'probe';

/** The steps that don't depend on the language. */
export function commonSteps(recipe: Recipe, values: Values): Record<CommonStep, Step> {
  const threads = Number(values.threads);
  const backbones = values.backbones === undefined ? BACKBONES : pathToFileURL(`${values.backbones}/`);
  const withStudent = async (work: WorkFolder, use: (student: Student) => Promise<void>) => {
    const student = await makeStudent(recipe, work, studentSettings(work, values), threads, values.grow);
    await use(student);
    await student.release();
  };
  const started = (work: WorkFolder, start: string) => ({
    datasets: given(values.datasets, 'datasets'),
    tasks: given(values.tasks, 'tasks').split(','),
    start: values.start ?? start,
    tokenizer: recipe.tokenizer(work),
    shape: shapeOf(studentSettings(work, values)),
    threads,
  });
  return {
    embeddings(work) {
      const { width } = shapeOf(studentSettings(work, values));
      return makeEmbeddings(work, recipe.tokenizer(work), width, threads);
    },
    async size(work) {
      const { size, shape } = studentSettings(work, values);
      const { vocabularySize } = loadTokenizer(recipe.tokenizer(work));
      console.log(`${shape}: ${sizeInWords(newBert(parseShape(shape), vocabularySize), size)}`);
    },
    learn: (work) => withStudent(work, (student) => learn(student, work, Number(values.minutes))),
    anneal: (work) => withStudent(work, (student) => anneal(student, work, Number(values.steps))),
    export: (work) =>
      exportBackbone(recipe, work, studentSettings(work, values), {
        grownFrom: values.grow,
        target: backbones,
      }),
    float: async (work) => floatBackbone(recipe.name(sizeIn(work, values)), work, backbones),
    check: (work) => checkBackbone(work, started(work, 'annealed')),
    probe: (work) => probeBackbone(work, started(work, 'checkpoint')),
  };
}

/** Runs the step that the command line names. */
export async function runStep(
  steps: Readonly<Record<string, Step>>,
  [name = '']: readonly string[],
  { work, shared }: Pick<Values, 'work' | 'shared'>,
): Promise<void> {
  const step = steps[name];
  if (step === undefined) throw new Error(`name one step: ${Object.keys(steps).join(', ')}`);
  await step(new WorkFolder(given(work, 'work'), shared));
}

/** @throws Error if an option that a step needs was left out. */
export function given(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`give --${name}`);
  return value;
}
