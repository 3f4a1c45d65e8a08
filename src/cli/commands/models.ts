import { pretrainedModelNames } from '../../contract/index.js';
import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from '../command-definition.js';

const name: ArgumentDefinition = {
  usage: '<name>',
  description: "a model's or backbone's",
  suggestions: pretrainedModelNames,
};
const directory: OptionDefinition = {
  flags: '--directory <folder>',
  description: 'where pulled models are kept; may be in ORCHARD_MODELS_DIRECTORY (a folder of the cache)',
};

export const modelsDefinition: CommandDefinition = {
  name: 'models',
  summary: 'list pretrained models and backbones, show their cards, pull and check them',
  commands: [
    {
      name: 'list',
      summary: 'list what there is, and what of it is here',
      isDefault: true,
      options: [directory],
      run: async (run) => (await import('../actions/models.js')).list(run),
    },
    {
      name: 'card',
      summary: "print a model's card: data, licences, figures, weaknesses",
      arguments: [name],
      options: [directory],
      run: async (run) => (await import('../actions/models.js')).card(run),
    },
    {
      name: 'pull',
      summary: 'fetch a model, each file checked by its SHA-256',
      arguments: [name],
      options: [
        {
          flags: '--from <place>',
          description: 'a folder or URL that has catalogue/ and backbones/; may be in ORCHARD_MODELS_FROM',
        },
        directory,
      ],
      run: async (run) => (await import('../actions/models.js')).pull(run),
    },
    {
      name: 'verify',
      summary: 'check the files of a model that is here by their SHA-256',
      arguments: [name],
      options: [directory],
      run: async (run) => (await import('../actions/models.js')).verify(run),
    },
  ],
};
