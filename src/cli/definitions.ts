import type { CommandDefinition } from './command-definition.js';
import { archiveDefinition } from './commands/archive.js';
import {
  embedDefinition,
  evaluateDefinition,
  explainDefinition,
  exportDefinition,
  predictDefinition,
  searchDefinition,
  suggestDefinition,
} from './commands/ask.js';
import { completionDefinition } from './commands/completion.js';
import { modelsDefinition } from './commands/models.js';
import { serveDefinition } from './commands/serve.js';
import {
  copyDefinition,
  devicesDefinition,
  eraseDefinition,
  newKeyDefinition,
  unusedDefinition,
} from './commands/service.js';
import { crossValidateDefinition, trainDefinition, tuneDefinition } from './commands/train.js';

/** All commands, in the order of help. */
export const definitions: readonly CommandDefinition[] = [
  trainDefinition,
  tuneDefinition,
  crossValidateDefinition,
  predictDefinition,
  explainDefinition,
  evaluateDefinition,
  suggestDefinition,
  embedDefinition,
  searchDefinition,
  archiveDefinition,
  modelsDefinition,
  exportDefinition,
  serveDefinition,
  newKeyDefinition,
  devicesDefinition,
  eraseDefinition,
  unusedDefinition,
  copyDefinition,
  completionDefinition,
];
