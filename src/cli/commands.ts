import type { Command } from './command.js';
import { archiveCommand } from './commands/archive.js';
import { checkCommand } from './commands/check.js';
import { completionCommand } from './commands/completion.js';
import { crossValidateCommand } from './commands/cross-validate.js';
import { devicesCommand } from './commands/devices.js';
import { distillCommand } from './commands/distill.js';
import { driftCommand } from './commands/drift.js';
import { embedCommand } from './commands/embed.js';
import { evaluateCommand } from './commands/evaluate.js';
import { explainCommand } from './commands/explain.js';
import { exportCommand } from './commands/export.js';
import { modelsCommand } from './commands/models.js';
import { copyCommand, eraseCommand, newKeyCommand, unusedCommand } from './commands/operator.js';
import { predictCommand } from './commands/predict.js';
import { redactCommand } from './commands/redact.js';
import { searchCommand } from './commands/search.js';
import { serveCommand } from './commands/serve.js';
import { suggestCommand } from './commands/suggest.js';
import { trainCommand } from './commands/train.js';
import { tuneCommand } from './commands/tune.js';
import { versionsCommand } from './commands/versions.js';

/** All commands of `orchard`, in the order in which help lists them. */

export const commands: readonly Command[] = [
  trainCommand,
  checkCommand,
  distillCommand,
  tuneCommand,
  crossValidateCommand,
  predictCommand,
  explainCommand,
  redactCommand,
  evaluateCommand,
  driftCommand,
  suggestCommand,
  embedCommand,
  searchCommand,
  archiveCommand,
  modelsCommand,
  exportCommand,
  serveCommand,
  versionsCommand,
  newKeyCommand,
  devicesCommand,
  eraseCommand,
  unusedCommand,
  copyCommand,
  completionCommand,
];
