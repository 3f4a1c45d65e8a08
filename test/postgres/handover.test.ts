import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { sentimentRequest } from '../public/sentiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { describeWithPostgres } from './private-server.js';

/** A job whose trainer dies goes on on another machine: another process, with other directories. */

const script = fileURLToPath(new URL('./processes/train.ts', import.meta.url));
const EPOCHS = 4;
/** Longer than the training takes. */
const NEVER_MS = 3_600_000;

describeWithPostgres('a job of a trainer that is killed', (server) => {
  it('goes on from the last saved checkpoint, and ends with the weights of an undisturbed one', {
    timeout: 400_000,
  }, async () => {
    const { connectionString } = server;
    const request = await sentimentRequest(temporaryDirectory(), { num_epochs: EPOCHS });
    const schema = server.newSchema();
    const everyEpoch = { checkpointIntervalMs: 0, stopsWhenSaved: true };
    const first = aTrainer({ connectionString, schema, request, ...everyEpoch });
    await first.says('saved', 1);
    await first.kill();

    const second = aTrainer({ connectionString, schema, checkpointIntervalMs: NEVER_MS });
    await second.ended;
    expect(second.said('state').at(-1)).toBe('READY');
    const epochs = second.said('epoch').map(Number);
    expect(epochs[0]).toBeGreaterThan(1);
    expect(epochs.at(-1)).toBe(EPOCHS);

    const alone = { schema: server.newSchema(), request, checkpointIntervalMs: NEVER_MS };
    const undisturbed = aTrainer({ connectionString, ...alone });
    await undisturbed.ended;
    expect(second.said('weights')).toEqual(undisturbed.said('weights'));
    expect(await server.sql(`SELECT kind FROM ${schema}.folders`)).toEqual([{ kind: 'published' }]);
  });
});

/** A trainer on a machine of its own. */
function aTrainer(settings: object) {
  const env = { ...process.env, TMPDIR: temporaryDirectory() };
  const args = ['--import', 'tsx', script, JSON.stringify({ ...settings, cache: temporaryDirectory() })];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return followed(child);
}

/** What a process says, a line each: a word, and what follows it. */
function followed(child: ChildProcess) {
  let text = '';
  let hasEnded = false;
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  const ended = once(child, 'close').then(() => {
    hasEnded = true;
  });
  const said = (word: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${word} `))
      .map((line) => line.slice(word.length + 1));
  return {
    said,
    ended,
    async says(word: string, times: number): Promise<void> {
      while (said(word).length < times && !hasEnded) await Promise.race([delay(5), ended]);
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
