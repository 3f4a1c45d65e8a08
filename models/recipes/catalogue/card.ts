import { readEncoder } from '../../../src/encoder/index.js';
import type { ModelReport } from '../../../src/models/index.js';
import {
  asWords,
  classNames,
  decimal,
  escapeMarkdown,
  languageCode,
  markdownTable,
  partsOf,
  scoresOf,
  whole,
} from '../../../src/report/index.js';
import type { Measured, ModelFigures, Robustness, TrainingData } from './model-facts.js';
import type { Recipe, Reference } from './recipe.js';
import { asShown, robustnessSection } from './robustness/section.js';
import { usageTerms } from './usage-terms.js';

/** The README.md of a catalogue model. Every figure on it comes from a file beside it. */

/** Facts from the files of a model's folder. */
export interface CardFacts extends ModelReport {
  readonly data: TrainingData;
  /** Undefined until it was measured. */
  readonly figures: ModelFigures | undefined;
  /** Undefined until it was measured. */
  readonly robustness: Robustness | undefined;
  /** Size of all files beside the card. */
  readonly bytes: number;
}

export function catalogueCard(recipe: Recipe, facts: CardFacts): string {
  const sections = [
    frontMatter(recipe),
    `# ${recipe.name}`,
    recipe.does,
    restrictions(recipe),
    usage(recipe),
    answers(recipe, facts),
    figures(recipe, facts),
    robustnessSection(recipe, facts.robustness),
    trainedOn(recipe, facts.data),
    section('What it is bad at', recipe.weaknesses.map((weakness) => `- ${weakness}`).join('\n')),
    howItWasMade(recipe, facts),
    licence(facts.data),
  ];
  return `${sections.filter((each) => each !== '').join('\n\n')}\n`;
}

const section = (heading: string, ...paragraphs: readonly string[]): string =>
  [`## ${heading}`, ...paragraphs.filter((paragraph) => paragraph !== '')].join('\n\n');

const pipelines: Readonly<Record<Recipe['family'], string>> = {
  Papaya: 'text-classification',
  Grapefruit: 'token-classification',
  Dragonfruit: 'sentence-similarity',
};

/** Front matter for the Hugging Face Hub. The data has licences of its own, so no single one is named. */
function frontMatter({ language, family }: Recipe): string {
  return [
    '---',
    'license: other',
    `language: "${languageCode(language) ?? language}"`,
    'library_name: orchard-nlp',
    `pipeline_tag: ${pipelines[family]}`,
    '---',
  ].join('\n');
}

/** Near the top, where nobody overlooks it. */
function restrictions(recipe: Recipe): string {
  const terms = usageTerms(recipe);
  if (terms === undefined) return '';
  const { reasons, alternative } = terms;
  const why = reasons.map((reason) => `- ${escapeMarkdown(reason)}`).join('\n');
  return ['**Not for commercial use** without the permission of the owners of the data:', why, alternative ?? ''].join(
    '\n\n',
  );
}

function usage({ name, example }: Recipe): string {
  return [
    '```js',
    "import { memoryStorage, Predictor } from 'orchard-nlp';",
    'const predictor = new Predictor({ storage: memoryStorage() });',
    `console.log(await predictor.predictPretrained('${name}', ${JSON.stringify(example)}));`,
    '```',
  ].join('\n');
}

function answers(recipe: Recipe, { config }: CardFacts): string {
  const notes = (recipe.notes ?? []).map((note) => `- ${note}`).join('\n');
  if (recipe.family === 'Dragonfruit') return section('Answers', notes);
  const { noun, names } = classNames(config);
  const heading = noun === 'label' ? 'Labels' : 'Types of entities';
  return section(heading, `${names.map(escapeMarkdown).join(', ')}.`, notes);
}

function figures(recipe: Recipe, { figures: measured, config, bytes }: CardFacts): string {
  const command = `npm run bench -- catalogue <datasets folder> ${recipe.name}`;
  const size = `${decimal(bytes / 1e6, 1)} MB on disk; the encoder reads up to ${whole(config.orchard.max_tokens)} tokens at once.`;
  if (measured === undefined) {
    return section('Figures', `Not measured yet. To measure the model, run \`${command} --write\`.`, size);
  }
  const { speed, machine, tests } = measured;
  const referencesOf = (title: string) => recipe.tests.find((test) => test.title === title)?.references ?? [];
  const rows = tests.map((test) => [
    escapeMarkdown(test.test),
    whole(test.rows),
    test.metric,
    ownFigure(test),
    besides(test, referencesOf(test.test)),
  ]);
  return section(
    'Figures',
    `\`${command}\` prints these figures, with 95 % intervals:`,
    markdownTable(['test', 'rows', 'metric', 'this model', 'for comparison'], rows),
    `${whole(speed.texts_per_second)} texts per second in batches of 20, ${decimal(speed.p50_ms, 1)} ms for a single text (median), ${whole(speed.first_answer_ms)} ms from the import to the first answer in a new process. ${escapeMarkdown(machine)}.`,
    size,
  );
}

function ownFigure({ metric, value, low, high }: Measured): string {
  const shown = asShown(metric);
  return `**${shown(value)}** (${shown(low)} to ${shown(high)})`;
}

function besides({ beside }: Measured, references: readonly Reference[]): string {
  const own = beside === undefined ? [] : [`${beside.method} ${decimal(beside.value)}, measured here`];
  const published = references.map(({ figure, from }) => `${figure} (${from})`);
  return escapeMarkdown([...own, ...published].join('; '));
}

function trainedOn(recipe: Recipe, { sources, train, dev, duplicates, mixedLabels }: TrainingData): string {
  const removed = `${whole(duplicates)} duplicate${duplicates === 1 ? '' : 's'}`;
  const model = duplicates === 0 ? 'The model' : `After the removal of ${removed}, the model`;
  const rows = sources.map((source) => [
    escapeMarkdown([source.title, ...remarks(source)].join('; ')),
    escapeMarkdown(source.licence),
    whole(source.train + source.dev),
    whole(source.leaks),
  ]);
  const others = sources.reduce((sum, source) => sum + source.train + source.dev, -train - dev - duplicates);
  const remaining = `The remaining ${whole(others)} rows were set aside to compare the model with its teacher, or left out because they repeat other rows. `;
  const aside = others > 0 ? remaining : '';
  const ofPassages =
    recipe.family === 'Dragonfruit'
      ? 'Some of the passages that it searches are among these rows.'
      : "The model's folder contains none of these rows.";
  const searched =
    recipe.family === 'Dragonfruit'
      ? `The passages that it searches: ${escapeMarkdown(recipe.passages.title)} (${recipe.passages.licence}). The file NOTICE says where to find the authors of each.`
      : '';
  return section(
    'What it was trained on',
    markdownTable(['data', 'licence', 'rows', 'left out'], rows),
    `A row is left out if its text, or one of its sentences, is in a test; case, spacing and punctuation are ignored. ${model} was trained on ${whole(train)} rows. Another ${whole(dev)} dev rows were used to choose the best epoch and the weights of the two experts. ${aside}${ofPassages}`,
    mixedLabels === undefined
      ? ''
      : `For each labelled training row, it learned the mean of the label and the answer of a teacher that had ${mixedLabels === 'held-out' ? 'not seen this row' : 'learned this row, too'}.`,
    searched,
  );
}

function remarks({ remark, teacher }: TrainingData['sources'][number]): string[] {
  return [
    ...(remark === undefined ? [] : [remark]),
    ...(teacher === undefined ? [] : [`without labels; ${teacher}, fine-tuned on the rows above, labelled them`]),
  ];
}

function howItWasMade(recipe: Recipe, { training, config, data }: CardFacts): string {
  const { backbone, hyperparameters, seed, precision } = training;
  const start = backbone === undefined ? 'from random weights' : `from the backbone ${escapeMarkdown(backbone.name)}`;
  const { architecture, layers, width } = readEncoder(config, 'config.json');
  const settings = Object.entries({ ...hyperparameters, seed }).map(([name, value]) => `${asWords(name)} ${value}`);
  return section(
    'How it was made',
    `Made in Orchard's repository with ${commands(recipe, data)}. The model consists of a ${architecture} encoder with ${layers} layers of width ${width}, trained ${start}, and a lexical expert.`,
    `Settings: ${escapeMarkdown(settings.join(', '))}.`,
    devFigures(training),
    precision === undefined
      ? ''
      : `Weights: ${precision.answers}. The main metric on the dev rows is ${decimal(precision.float32)} in float32 and ${decimal(precision.int8)} with 8-bit weights.`,
  );
}

function commands({ name }: Recipe, { sources }: TrainingData): string {
  const command = (step: string) =>
    `\`npx tsx models/recipes/catalogue/main.ts ${step} ${name} --datasets <folder> --work <folder>\``;
  const teacher = sources.find((source) => source.teacher !== undefined)?.teacher;
  return teacher === undefined ? command('train') : `${command('teach')}, taught by ${escapeMarkdown(teacher)}`;
}

function devFigures(training: CardFacts['training']): string {
  const parts = partsOf(training);
  const names = parts[0] === undefined ? [] : scoresOf(parts[0].figures).map(({ name }) => name);
  if (names.length === 0) return '';
  const rows = parts.map(({ name, figures: part }) => [name, ...scoresOf(part).map(({ value }) => value)]);
  return markdownTable(['on dev', ...names], rows);
}

function licence({ sources }: TrainingData): string {
  const [first = '', ...others] = new Set(sources.map(({ licence: each }) => escapeMarkdown(each)));
  const weights = 'The weights are under Apache-2.0. The training data keeps its own';
  if (others.length === 0) return section('Licence', `${weights} licence: ${first}.`);
  return section('Licence', `${weights} licences:`, [first, ...others].map((each) => `- ${each}`).join('\n'));
}
