import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { flagsOf, inFlags } from '../../src/cli/flags-in-words.js';
import { MemoryLimitError } from '../../src/contract/index.js';

function asShownBy(name: string, message: string): string {
  const command = commands.find((each) => each.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return inFlags(message, flagsOf(command, {}));
}

describe('a message on the command line', () => {
  it.each([
    ['tune', 'the time limit (budgetSeconds: 90) was reached', 'the time limit (--minutes 1.5) was reached'],
    ['train', 'training diverged; use a lower learning_rate', 'training diverged; use a lower --learning-rate'],
    [
      'train',
      "the trainer needs 3 GiB, but the trainer's memoryLimit is 2 GiB: use a smaller batch_size, or raise the limit",
      'the trainer needs 3 GiB, but this process may use only 2 GiB: use a smaller --batch-size, or use a machine with more memory',
    ],
    [
      'predict',
      new MemoryLimitError('model a', 3 * 2 ** 20, 2 ** 20).message,
      'model a needs about 3 MiB of memory, but this process may use only 1 MiB; use a smaller model, or a machine with more memory',
    ],
    [
      'train',
      "set the option language to the language of the texts, or start from a multilingual backbone (base: 'a/b'); to compare with random weights, set pretrained to false",
      "set --language to the language of the texts, or start from a multilingual backbone (--base 'a/b')",
    ],
    ['drift', 'make one from usual texts with model.baseline({ texts })', 'give a file of usual texts with --usual'],
    ['predict', 'load it once with `offline: false`', 'load it once with HF_HUB_OFFLINE=false'],
    ['embed', 'its prompts are q; give { text: "x" } for a prompt of your own', 'its prompts are q'],
  ])('of orchard %s names flags: %s', (command, message, shown) => {
    expect(asShownBy(command, message)).toBe(shown);
  });

  it.each([
    ['train', 'reading /data/learningRate/batch_size.csv: no such file'],
    ['train', 'the label "learningRate" occurs twice'],
    ['predict', 'the model has no label learning_rate'],
  ])('of orchard %s keeps what is not an option: %s', (command, message) => {
    expect(asShownBy(command, message)).toBe(message);
  });
});
