import { describe, expect, it } from 'vitest';
import { flagsOf } from '../../src/cli/command.js';
import { commands } from '../../src/cli/commands.js';
import { inMessage, MemoryLimitError } from '../../src/contract/index.js';

function asShownBy(name: string, message: string, typed = {}): string {
  const command = commands.find((each) => each.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return inMessage(message, flagsOf(command, typed));
}

describe('a message on the command line', () => {
  it.each([
    ['train', 'use a lower `learningRate`', 'use a lower --learning-rate'],
    ['train', "start with `base: 'a/b'`", "start with --base 'a/b'"],
    ['train', "tags (or `tagNames: ['O', 'B-PER']`)", 'tags (or --tag-names O,B-PER)'],
    [
      'train',
      'choose them (`columns: { text: "the body", label: \'stars\' }`)',
      'choose them (--text-column "the body" --label-column \'stars\')',
    ],
    ['train', 'leave `columns.weight` out', 'leave --weight-column out'],
    [
      'drift',
      'compare with usual texts: `baseline: await orThrow(model.baseline({ texts }))`',
      'compare with usual texts: --usual',
    ],
  ])('of orchard %s names flags: %s', (command, message, shown) => {
    expect(asShownBy(command, message)).toBe(shown);
  });

  it('names the flags of the columns that were given', () => {
    const typed = { textColumn: 'a', labelColumn: 'b', name: 'c' };
    expect(asShownBy('train', 'leave `columns` out', typed)).toBe('leave --text-column and --label-column out');
  });

  it('names the flags of options that the library calls something else', () => {
    const search = commands.find(({ name }) => name === 'search');
    const flags = search && flagsOf(search, {});
    expect([flags?.('k', undefined), flags?.('folder', undefined)]).toEqual(['--top', '--save']);
  });

  it.each([
    [
      'predict',
      new MemoryLimitError('model a', 3 * 2 ** 20, 2 ** 20).message,
      'model a needs about 3 MiB of memory, but the limit is 1 MiB; allow more memory or use a smaller model',
    ],
    ['tune', 'the time limit (`budgetSeconds: 90`) was reached', 'the time limit was reached'],
    ['embed', 'its prompts are q (for your own, give `prompt: { text: "x" }`)', 'its prompts are q'],
    ['drift', 'choose them (`columns: { text: "a", label: "b" }`)', 'choose them'],
  ])('of orchard %s leaves out what only the library can set: %s', (command, message, shown) => {
    expect(asShownBy(command, message)).toBe(shown);
  });

  it.each([
    ['train', 'reading /data/learningRate/batchSize.csv: no such file'],
    ['train', 'the label "`learningRate`" occurs twice'],
    ['predict', 'leave `constructor` out'],
  ])('of orchard %s keeps what is not an option: %s', (command, message) => {
    expect(asShownBy(command, message)).toBe(message);
  });
});
