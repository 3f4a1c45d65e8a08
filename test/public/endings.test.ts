import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** A process that ends while a thread is within ONNX Runtime ends as asked; `npm run bench -- endings` does it 200 times each. */

const program = fileURLToPath(new URL('../../bench/endings/program.mjs', import.meta.url));
const TIMES_MS = [10, 40, 90, 160];

it.each([
  ['load', 'exit', 3],
  ['load', 'sigterm', 3],
  ['load', 'throw', 1],
  ['busy', 'exit', 3],
  ['busy', 'sigterm', 3],
  ['busy', 'throw', 1],
])('while a model is in "%s", %s ends with %i', async (during, end, expected) => {
  for (const ms of TIMES_MS) {
    const child = spawn(process.execPath, [program, during, end, String(ms)], { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.once('data', () => child.kill('SIGTERM'));
    const [code, signal] = await once(child, 'exit');
    expect(code ?? signal, `after ${ms} ms`).toBe(expected);
  }
});
