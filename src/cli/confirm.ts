import { createInterface } from 'node:readline/promises';
import { ValidationError } from '../contract/index.js';
import { flag } from './parameters.js';
import type { Terminal } from './terminal.js';

export const yesOption = flag('--yes', 'do not ask for confirmation');

/**
 * Asks on the terminal before something is removed.
 * @param expected the answer that confirms
 * @throws ValidationError for another answer, or without a terminal
 */
export async function confirm({ stdin, stderr }: Terminal, warning: string, expected: string): Promise<void> {
  if (!stdin.isTTY) throw refusal('--yes', `${warning} Add --yes, because there is no terminal to ask on`);
  const questions = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await questions.question(`${warning} Type ${expected} to continue: `);
    if (answer !== expected)
      throw refusal('confirmation', `${JSON.stringify(answer)} does not match; nothing was done`);
  } finally {
    questions.close();
  }
}

function refusal(where: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [where], msg, type: 'arguments' }]);
}
