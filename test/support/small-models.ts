import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ResultAsync } from 'neverthrow';
import type { OrchardError } from '../../src/contract/errors.js';
import type { ModelConfig } from '../../src/contract/index.js';
import { newEncoder } from '../../src/encoder/index.js';
import {
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
} from '../../src/families/index.js';
import { runTraining } from '../../src/training/run-training.js';
import { type BuiltModel, buildModel } from './built-models.js';
import { resultOf } from './outcomes.js';

/** Small models of every family in folders, as training leaves them, for other libraries to load. */

export type SmallModelName =
  | 'binary classifier'
  | 'multiclass classifier'
  | 'classifier of first tokens'
  | 'entity tagger'
  | 'retriever';

/** Texts to compare libraries on: lengths, scripts, accents, marks, pieces that no vocabulary has, nothing at all. */
export const probes: readonly string[] = [
  'the lamp was awful',
  'Zoë from São Paulo doesn’t like the CAFÉ, naïvely!',
  'It works perfectly; my order (no. 42) came on time and the driver was kind to all of us.',
  '東京の天気はとても良い and 漢字',
  'Привет, мир! Ёлка',
  'emoji 👩‍👩‍👧 \u00ad soft hyphen, tab\there',
  'unbelievablyextraordinarilylongwordthatnovocabularyhas',
  '?',
  '',
];

/** Longer than models read. */
export const longProbe = 'a great room '.repeat(150);

/** Trains (or, where training never makes one, builds) a model. @returns its folder, below `parent`. */
export async function smallModel(name: SmallModelName, parent: string): Promise<string> {
  const directory = join(parent, name.replaceAll(' ', '-'));
  await mkdir(directory, { recursive: true });
  if (name === 'classifier of first tokens') await buildFirstTokenClassifier(directory);
  else await train(recipes[name], directory);
  return directory;
}

interface Recipe {
  readonly model: Pick<ModelConfig, 'type' | 'family' | 'preprocessing'>;
  /** Writes the archive to train on. */
  archive(path: string): ResultAsync<unknown, OrchardError>;
}

const subjects = ['the phone', 'this lamp', 'My order', 'the Café', 'Zoë', 'the driver', 'a room', 'it'];
const verdicts = {
  good: ['works perfectly', 'is great', 'was kind', 'came on time!'],
  bad: ['broke at once', 'is terrible', 'was awful', 'made us angry…'],
  unsure: ['is 漢字 to me', 'could be, or not', 'costs 42 $'],
};

/** Rows of these verdicts, labelled by them. */
const rowsOf = (labels: readonly (keyof typeof verdicts)[]) =>
  subjects.flatMap((subject) =>
    labels.flatMap((label) => verdicts[label].map((verdict) => ({ text: `${subject} ${verdict}`, label }))),
  );

const sentences = subjects.flatMap((subject, at) => {
  const words = subject.split(' ');
  return [
    { words: ['Zoë', 'Müller', 'likes', ...words], tags: ['B-PER', 'I-PER', 'O', ...words.map(() => 'O')] },
    {
      words: [...words, 'went', 'to', 'São', 'Paulo', String(at)],
      tags: [...words.map(() => 'O'), 'O', 'O', 'B-LOC', 'I-LOC', 'O'],
    },
  ];
});

const questions = subjects.map((subject, at) => ({
  question: `What about ${subject}, number ${at}?`,
  context: `Number ${at}: ${subject} was bought in São Paulo and ${verdicts.good[at % 4]}, they say.`,
}));

const recipes: Readonly<Record<Exclude<SmallModelName, 'classifier of first tokens'>, Recipe>> = {
  'binary classifier': classifierRecipe('binary-text-classification', ['bad', 'good']),
  'multiclass classifier': classifierRecipe('multiclass-text-classification', ['bad', 'good', 'unsure']),
  'entity tagger': {
    model: { type: 'sequence-labeling', family: 'Grapefruit', preprocessing: { lowercase: false } },
    archive: (path) => createSequenceArchive({ name: 'small', rows: sentences, devRows: sentences }, path),
  },
  retriever: {
    model: { type: 'question-answering', family: 'Dragonfruit' },
    archive: (path) => createRetrievalArchive({ name: 'small', rows: questions, devRows: questions }, path),
  },
};

function classifierRecipe(
  type: 'binary-text-classification' | 'multiclass-text-classification',
  labels: readonly (keyof typeof verdicts)[],
): Recipe {
  const rows = rowsOf(labels);
  return {
    model: { type, family: 'Papaya' },
    archive: (path) => createClassificationArchive({ type, name: 'small', rows, devRows: rows }, path),
  };
}

/** Enough for outputs that differ from text to text. */
const EPOCHS = 1;

async function train({ model, archive }: Recipe, directory: string): Promise<void> {
  const path = `${directory}.zip`;
  await resultOf(archive(path));
  await runTraining(
    {
      id: 'small',
      dataset: { url: pathToFileURL(path).href },
      model_config: { name: 'small', size: 'mini', ...model },
      training_config: { batch_size: 8, num_epochs: EPOCHS, learning_rate: 1e-3, use_pretrained: false },
      directory,
      allowFileUrls: true,
      threads: 2,
      seed: 1,
      // The peers load the float32 graph, and ours is to give their numbers.
      tuning: { quantize: false },
    },
    { signal: new AbortController().signal, onEvent: () => undefined },
  );
}

/** Wider than BERT's, so that logits of random weights differ from text to text. */
const DEVIATION = 0.1;

/** A multiclass model with BERT's own pooling. */
async function buildFirstTokenClassifier(directory: string): Promise<void> {
  const texts = rowsOf(['bad', 'good', 'unsure']).map(({ text }) => text);
  const { config } = newEncoder('mini', 1);
  await buildModel(directory, { encoder: { ...config, initializer_range: DEVIATION }, head: 'first', texts });
}

/** A model of an encoder with random weights, as training would leave it. @returns its folder, below `parent`. */
export async function builtModel(name: string, parent: string, model: Omit<BuiltModel, 'texts'>): Promise<string> {
  const directory = join(parent, name.replaceAll(' ', '-'));
  await mkdir(directory, { recursive: true });
  const texts = rowsOf(['bad', 'good', 'unsure']).map(({ text }) => text);
  await buildModel(directory, { ...model, texts });
  return directory;
}
