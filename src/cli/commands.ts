import type { Command } from './command.js';
import { archiveCommand } from './commands/archive.js';
import { completionCommand } from './commands/completion.js';
import { copyCommand } from './commands/copy.js';
import { crossValidateCommand } from './commands/cross-validate.js';
import { devicesCommand } from './commands/devices.js';
import { embedCommand } from './commands/embed.js';
import { eraseCommand } from './commands/erase.js';
import { evaluateCommand } from './commands/evaluate.js';
import { explainCommand } from './commands/explain.js';
import { exportCommand } from './commands/export.js';
import { modelsCommand } from './commands/models.js';
import { newKeyCommand } from './commands/new-key.js';
import { predictCommand } from './commands/predict.js';
import { searchCommand } from './commands/search.js';
import { serveCommand } from './commands/serve.js';
import { suggestCommand } from './commands/suggest.js';
import { trainCommand } from './commands/train.js';
import { tuneCommand } from './commands/tune.js';
import { unusedCommand } from './commands/unused.js';

/** All commands of `orchard`, in the order in which help lists them. */

export const commands: readonly Command[] = [
  trainCommand,
  tuneCommand,
  crossValidateCommand,
  predictCommand,
  explainCommand,
  evaluateCommand,
  suggestCommand,
  embedCommand,
  searchCommand,
  archiveCommand,
  modelsCommand,
  exportCommand,
  serveCommand,
  newKeyCommand,
  devicesCommand,
  eraseCommand,
  unusedCommand,
  copyCommand,
  completionCommand,
];
