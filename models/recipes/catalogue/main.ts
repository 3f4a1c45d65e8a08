import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DEVICES } from '../../../src/contract/index.js';
import { families } from '../../../src/families/index.js';
import { exportModel, writeCard, writeConfig } from './export-model.js';
import { recipesNamed } from './models/index.js';
import type { Recipe } from './recipe.js';
import { writeForTeacher } from './recorded-answers.js';
import { givenTo, teach, withoutTeacher } from './teach.js';
import { modelWork, trainedFolder, trainModel } from './train.js';
import { withFreeData } from './usage-terms.js';

/** `npx tsx models/recipes/catalogue/main.ts texts|teach|train|export|card <name …|all> …`: README.md beside this file. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datasets: { type: 'string' },
    work: { type: 'string' },
    backbone: { type: 'string' },
    teacher: { type: 'string' },
    answers: { type: 'string' },
    untaught: { type: 'boolean', default: false },
    threads: { type: 'string', default: String(availableParallelism()) },
    device: { type: 'string', default: 'cpu' },
    seed: { type: 'string', default: '1' },
    free: { type: 'boolean', default: false },
    catalogue: { type: 'string' },
  },
});

function given(name: 'datasets' | 'work' | 'teacher'): string {
  const value = values[name];
  if (value === undefined) throw new Error(`give --${name} <folder>`);
  return value;
}

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const threads = Number(values.threads);
const device = DEVICES.find((each) => each === values.device);
if (device === undefined) throw new Error(`--device: found ${values.device}; give one of ${DEVICES.join(', ')}`);
const seed = Number(values.seed);
const catalogue = values.catalogue ?? folder('../../catalogue');

/**
 * The backbone that was asked for, `none` for random weights; if nothing was asked for, that of the language,
 * if there is one: that for the model's family before that for all.
 */
function backboneOf({ language, family }: Recipe): string | undefined {
  if (values.backbone !== undefined) return values.backbone === 'none' ? undefined : values.backbone;
  const general = folder(`../../backbones/${language}-mini`);
  const ending = families[family].backboneEnding;
  const names = ending === undefined ? [general] : [`${general}-${ending}`, general];
  return names.find((each) => existsSync(each));
}

const steps: Readonly<Record<string, (recipe: Recipe) => Promise<void>>> = {
  teach(recipe) {
    const [datasets, work] = [given('datasets'), given('work')];
    const shipped = folder(`answers/${recipe.name}.json.gz`);
    const isShipped = values.teacher === undefined && !values.free && existsSync(shipped);
    const answers = values.answers ?? (isShipped ? shipped : undefined);
    const teacher = answers === undefined ? given('teacher') : { answers };
    return teach(recipe, { datasets, work, teacher, backbone: backboneOf(recipe), threads, device, seed });
  },
  async texts(recipe) {
    const [datasets, work] = [given('datasets'), given('work')];
    const { rows, texts } = await givenTo(recipe, { datasets, seed });
    const target = join(modelWork(work, recipe), 'for-teacher');
    await writeForTeacher(recipe, { rows, texts }, { folder: target, datasets });
    console.log(`${recipe.name}: ${rows.train.length} rows and ${texts.length} texts in ${target}`);
  },
  async train(recipe) {
    const [datasets, work] = [given('datasets'), given('work')];
    // `teach` has trained it.
    if (recipe.unlabelled !== undefined) return;
    await trainModel(recipe, { datasets, work, backbone: backboneOf(recipe), threads, device, seed });
  },
  export(recipe) {
    const [datasets, work] = [given('datasets'), given('work')];
    return exportModel(recipe, { datasets, work, catalogue, threads });
  },
  async card(recipe) {
    const directory = join(catalogue, recipe.name);
    await writeConfig(recipe, directory);
    await writeCard(recipe, directory);
  },
};

const [step = '', ...names] = positionals;
const run = steps[step];
if (run === undefined || names.length === 0) {
  throw new Error(`give a step (${Object.keys(steps).join(', ')}) and names of models, or all`);
}
if (values.answers !== undefined) {
  if (step !== 'teach') throw new Error('--answers is for teach; leave it out');
  if (values.teacher !== undefined) throw new Error('give --teacher or --answers, not both');
  if (names.length > 1 || names[0] === 'all') throw new Error('--answers is for one model; name one');
}
const named = recipesNamed(names);
const wanted = values.untaught ? named.map(withoutTeacher) : named;
const recipes = values.free ? wanted.map(withFreeData) : wanted;
const languages = new Set(recipes.map(({ language }) => language));
if (values.backbone !== undefined && values.backbone !== 'none' && languages.size > 1) {
  throw new Error('a backbone is of one language: name the models that are to start from it');
}
if (step === 'train') {
  for (const recipe of recipes) if (recipe.unlabelled !== undefined) await trainedFolder(recipe, given('work'));
}
for (const recipe of recipes) await run(recipe);
