/** The commands that train: one model, many to find the best settings, one for each fold. */
import { documentedModelTypes, modelSizes } from '../../contract/index.js';
import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from '../command-definition.js';
import { columnOptions, deviceOption, threadsOption } from './shared-options.js';

const typeOption: OptionDefinition = {
  flags: '-t, --type <type>',
  description: 'what the model is to do (inferred from the rows)',
  choices: documentedModelTypes,
};
const baseOption: OptionDefinition = {
  flags: '-b, --base <model>',
  description:
    "what to start from: a model's or backbone's folder or name, or owner/name of the Hub (the language's backbone)",
};
const dataArgument: ArgumentDefinition = {
  usage: '<data>',
  description: 'the rows: a file, an archive, or the URL of one',
};

/** Where a model goes, and what it is judged by. */
const outputOptions: readonly OptionDefinition[] = [
  { flags: '-o, --output <folder>', description: 'where the model goes (<name>-model)' },
  { flags: '--dev <file>', description: 'rows to evaluate on while training, in the same format' },
  { flags: '--test <file>', description: 'rows to score the finished model on' },
];

const trainingOptions: readonly OptionDefinition[] = [
  { flags: '--name <name>', description: "the model's: 1 to 24 of a–z, 0–9 and - (from the file's)" },
  {
    flags: '--size <size>',
    description: 'of a model that starts from no backbone (mini)',
    choices: modelSizes,
  },
  { flags: '--language <language>', description: 'of the texts, such as en or ja (en)' },
  ...columnOptions,
  {
    flags: '--dev-fraction <share>',
    description: 'another share of the rows to evaluate on while training (0.1)',
  },
  { flags: '--epochs <number>', description: 'most passes over the rows' },
  { flags: '--batch-size <number>', description: 'rows of a step' },
  { flags: '--learning-rate <number>', description: 'such as 3e-4' },
  { flags: '--seed <number>', description: 'decides everything random (0)' },
];

export const trainDefinition: CommandDefinition = {
  name: 'train',
  summary: 'train a model on rows of yours',
  details: `The rows are a UTF-8 file: CSV, TSV or JSON Lines by the ending (columns text and label, or question and passage), or
CoNLL's columns (a word a line, its BIO tag last, a blank line after a sentence); or a dataset archive, as a zip, a
folder or a URL. A tenth of them is set aside to evaluate on.

  orchard train reviews.csv
  orchard train names.conll --base english-base --output ./names-model`,
  arguments: [dataArgument],
  options: [typeOption, baseOption, ...outputOptions, ...trainingOptions, deviceOption, threadsOption],
  run: async (run) => (await import('../actions/train.js')).trainModel(run),
};

export const tuneDefinition: CommandDefinition = {
  name: 'tune',
  summary: 'train with many settings, and keep the best model',
  details: `The defaults are trained first; then settings at random, most of them for a few epochs only: the best third of them go on
(successive halving). All are compared on the same rows that were set aside. An option such as --learning-rate holds for all.

  orchard tune reviews.csv --minutes 10
  orchard tune reviews.csv --trials 30 --space space.json      {"learningRate": {"min": 1e-4, "max": 1e-3, "scale": "log"}}`,
  arguments: [dataArgument],
  options: [
    { flags: '--minutes <number>', description: 'that the whole may take, such as 10 or 0.5 (no limit)' },
    {
      flags: '--trials <number>',
      description: 'most combinations of settings (20; with --minutes, any number)',
    },
    { flags: '--space <file>', description: 'JSON that says which settings to try (around the defaults)' },
    typeOption,
    baseOption,
    ...outputOptions,
    ...trainingOptions,
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/tune.js')).tuneModel(run),
};

export const crossValidateDefinition: CommandDefinition = {
  name: 'cross-validate',
  summary: 'judge by all rows, each by a model that has not seen it, and list doubtful labels',
  details: `The rows are divided into folds, each with its share of every label; for each fold a model is trained on the others. Prints
the figures over all rows, their mean and spread over the folds, and rows whose labels are probably wrong.

  orchard cross-validate reviews.csv --folds 5 --answers out-of-fold.jsonl`,
  arguments: [{ usage: '<data>', description: 'a file of rows' }],
  options: [
    { flags: '-k, --folds <number>', description: 'parts of the rows, each held out once (5)' },
    { flags: '--repeats <number>', description: 'how often the rows are divided anew (1)' },
    { flags: '--group-column <name>', description: 'rows with the same value there stay in one fold' },
    { flags: '--answers <file>', description: 'write the answer to each row, as JSON Lines' },
    { flags: '--doubtful <number>', description: 'rows with doubtful labels that are listed (10)' },
    typeOption,
    baseOption,
    ...trainingOptions,
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/cross-validate.js')).crossValidateRows(run),
};
