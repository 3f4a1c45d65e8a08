import { createInterface } from 'node:readline/promises';
import { ValidationError } from '../../errors.js';
import type { Terminal } from '../terminal.js';

/** Asks on the terminal. @throws ValidationError where the answer is another, or there is nobody to ask */
export async function confirmed({ stdin, stderr }: Terminal, what: string, expected: string): Promise<void> {
  if (!stdin.isTTY) throw wrong('--yes', `${what} Say --yes, as there is no terminal to ask at`);
  const questions = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await questions.question(`${what} Type ${expected} to go on: `);
    if (answer === expected) return;
    throw wrong('confirmation', `${JSON.stringify(answer)} is another answer; nothing was done`);
  } finally {
    questions.close();
  }
}

function wrong(where: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [where], msg, type: 'arguments' }]);
}
