import { documentedModelTypes } from '../../contract/index.js';
import type { CommandDefinition } from '../command-definition.js';

export const archiveDefinition: CommandDefinition = {
  name: 'archive',
  summary: 'make a dataset archive out of a file, checked as training checks it',
  details: `UTF-8: CSV, TSV or JSON Lines, by the ending, for classification and questions; for sequence labelling
CoNLL's columns: a word a line, its BIO tag in the last column, a blank line after a sentence.
Several labels of a row are separated by commas.`,
  arguments: [{ usage: '<input>', description: 'the rows' }],
  options: [
    {
      flags: '--type <type>',
      description: 'what a model is to learn from it',
      choices: documentedModelTypes,
    },
    { flags: '-o, --output <file>', description: 'where the zip goes (beside the input)' },
    { flags: '--text-column <name>', description: 'classification (text)' },
    { flags: '--label-column <name>', description: 'classification (label)' },
    { flags: '--question-column <name>', description: 'question-answering (question)' },
    {
      flags: '--passage-column <name>',
      description: 'question-answering: the passage that answers the question (context)',
    },
    {
      flags: '--dev <file>',
      description: 'rows to evaluate on, in the same format (a tenth of the input is set aside)',
    },
    { flags: '--dev-fraction <share>', description: 'another share to set aside, such as 0.2' },
    { flags: '--seed <number>', description: 'decides which rows are set aside (0)' },
    { flags: '--name <name>', description: "the dataset's (that of the output)" },
    { flags: '--description <text>', description: '(the name)' },
  ],
  run: async (run) => (await import('../actions/archive.js')).archive(run),
};
