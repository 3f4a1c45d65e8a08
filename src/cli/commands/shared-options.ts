/** What several commands take. */
import { pretrainedModelNames } from '../../contract/index.js';
import { DEVICES } from '../../device-names.js';
import type { ArgumentDefinition, OptionDefinition } from '../command-definition.js';

export const modelArgument: ArgumentDefinition = {
  usage: '<model>',
  description:
    "a model's folder, a pretrained model by its name, or owner/name of the Hugging Face Hub's cache",
  suggestions: pretrainedModelNames,
};

export const deviceOption: OptionDefinition = {
  flags: '--device <device>',
  description: 'where to compute, as orchard devices lists it (cpu)',
  choices: DEVICES,
};
export const threadsOption: OptionDefinition = {
  flags: '--threads <number>',
  description: 'processor threads of a computation',
};

/** What the columns of a file of rows are called. */
export const columnOptions: readonly OptionDefinition[] = [
  { flags: '--text-column <name>', description: 'classification, entities (text)' },
  { flags: '--label-column <name>', description: 'classification (label)' },
  { flags: '--question-column <name>', description: 'questions (question)' },
  { flags: '--passage-column <name>', description: 'questions (passage or context)' },
];
