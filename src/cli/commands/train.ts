import { documentedModelTypes, modelSizes } from '../../contract/index.js';
import type { CommandDefinition } from '../command-definition.js';
import { columnOptions, deviceOption, threadsOption } from './shared-options.js';

export const trainDefinition: CommandDefinition = {
  name: 'train',
  summary: 'train a model on rows of yours',
  details: `The rows are a UTF-8 file: CSV, TSV or JSON Lines by the ending (columns text and label, or question and passage), or
CoNLL's columns (a word a line, its BIO tag last, a blank line after a sentence); or a dataset archive, as a zip, a
folder or a URL. A tenth of them is set aside to evaluate on.

  orchard train reviews.csv
  orchard train names.conll --base english-base --output ./names-model`,
  arguments: [{ usage: '<data>', description: 'the rows: a file, an archive, or the URL of one' }],
  options: [
    {
      flags: '-t, --type <type>',
      description: 'what the model is to do (inferred from the rows)',
      choices: documentedModelTypes,
    },
    {
      flags: '-b, --base <model>',
      description:
        "what to start from: a model's or backbone's folder or name, or owner/name of the Hub (the language's backbone)",
    },
    { flags: '-o, --output <folder>', description: 'where the model goes (<name>-model)' },
    { flags: '--name <name>', description: "the model's: 1 to 24 of a–z, 0–9 and - (from the file's)" },
    {
      flags: '--size <size>',
      description: 'of a model that starts from no backbone (mini)',
      choices: modelSizes,
    },
    { flags: '--language <language>', description: 'of the texts, such as en or ja (en)' },
    ...columnOptions,
    { flags: '--dev <file>', description: 'rows to evaluate on while training, in the same format' },
    { flags: '--dev-fraction <share>', description: 'another share of the rows for that (0.1)' },
    { flags: '--test <file>', description: 'rows to score the finished model on' },
    { flags: '--epochs <number>', description: 'most passes over the rows' },
    { flags: '--batch-size <number>', description: 'rows of a step' },
    { flags: '--learning-rate <number>', description: 'such as 3e-4' },
    { flags: '--seed <number>', description: 'decides everything random (0)' },
    deviceOption,
    threadsOption,
  ],
  run: async (run) => (await import('../actions/train.js')).trainModel(run),
};
