import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A distillation whose process is killed, with a teacher that is slow, rejects calls and answers nonsense. */

const script = fileURLToPath(new URL('processes/distill.ts', import.meta.url));

/** @returns the texts that the teacher was asked and had answered, in the order of the calls that ended */
async function ranUntil(folder: string, seed: number, calls = Number.POSITIVE_INFINITY) {
  const args = ['--import', 'tsx', script, folder, `${seed}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const asked: string[] = [];
  let summary: { answered: number; kept: number; retries: number; unusable: { count: number } } | undefined;
  let ended = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line);
    if (said.asked !== undefined) asked.push(...said.asked);
    if (said.summary !== undefined) summary = said.summary;
    if (said.kept !== undefined) ended += 1;
    if (ended >= calls) child.kill('SIGKILL');
  });
  const [code, signal] = await once(child, 'close');
  return { asked, summary, code, signal };
}

const keptIn = (folder: string): string[] =>
  readFileSync(`${join(folder, 'small')}.answers.jsonl`, 'utf8')
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line).text);

it('asks for no stored answer again, and makes the student that it makes undisturbed', async () => {
  const [straight, killed] = [temporaryDirectory(), temporaryDirectory()];
  const undisturbed = await ranUntil(straight, 1);
  expect(undisturbed).toMatchObject({ code: 0, summary: { answered: 400, kept: 0 } });
  expect(undisturbed.summary?.retries).toBeGreaterThan(0);
  expect(undisturbed.summary?.unusable.count).toBeGreaterThan(0);

  const first = await ranUntil(killed, 2, 12);
  expect(first.signal).toBe('SIGKILL');
  const afterFirst = keptIn(killed);
  expect(afterFirst.length).toBeGreaterThan(0);
  const second = await ranUntil(killed, 3, 15);
  expect(second.signal).toBe('SIGKILL');
  expect(second.asked.filter((text) => afterFirst.includes(text))).toEqual([]);
  const afterSecond = keptIn(killed);
  expect(afterSecond.length).toBeGreaterThan(afterFirst.length);
  const third = await ranUntil(killed, 4);
  expect(third).toMatchObject({ code: 0, summary: { answered: 400, kept: afterSecond.length } });
  expect(third.asked.filter((text) => afterSecond.includes(text))).toEqual([]);
  expect(third.summary?.unusable).toEqual(undisturbed.summary?.unusable);

  for (const file of ['model.safetensors', 'lexical.safetensors', 'config.json']) {
    const [one, other] = [straight, killed].map((folder) => readFileSync(join(folder, 'small', file)));
    expect(one?.equals(other ?? Buffer.of()), file).toBe(true);
  }
});
