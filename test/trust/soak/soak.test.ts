import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newApiKey } from '../../../src/http/index.js';
import { Random } from '../../../src/system/numbers.js';
import { anArchive } from '../../support/archive-builder.js';
import { aDatasetServer, aServiceProcess } from '../service-process.js';
import {
  type Act,
  askPretrained,
  askShortly,
  attack,
  holdAndBreakOff,
  startAndCancel,
  trainAskDelete,
  uploadAndWatch,
} from './actors.js';
import { Client } from './client.js';
import { ProcessFigures, quantile, slopeOf } from './process-figures.js';

/**
 * Five accounts use a service in a process of its own for a while, one of them to harm the others. `npm run test:soak`
 * does it for half an hour and holds memory and times to figures; `npm run test:processes` does it for seconds and looks at the
 * answers alone.
 */

const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.2);
/** Whether the figures are held to their bounds: a short run is all warming up. */
const IS_LONG = MINUTES >= 10;
/** Of the time: the bystander alone, then beside the attacker, then all. */
const SHARES = { alone: 0.1, attacked: 0.15 };
const WARM_UP = 0.5;
const BYSTANDER_PAUSE_MS = 50;
const ATTACK_PAUSE_MS = 1000;

const training_config = { num_epochs: 1, batch_size: 8, use_pretrained: false, language: 'german' };
const model_config = { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' };

/** An act again and again until the time is over. @returns milliseconds of each. */
async function repeat(act: Act, client: Client, untilMs: number, pauseMs = 0): Promise<number[]> {
  const random = Random.fromSeed(5);
  const times: number[] = [];
  while (performance.now() < untilMs) {
    const startedAt = performance.now();
    await act(client, random).catch((thrown: unknown) =>
      client.fault(`${act.name}: ${thrown instanceof Error ? `${thrown.message} ${thrown.cause}` : thrown}`),
    );
    times.push(performance.now() - startedAt);
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return times;
}

describe.skipIf(process.platform !== 'linux')('a service that five accounts use', () => {
  it(
    'answers everybody, and keeps its memory and its files in bounds while one attacks',
    async () => {
      const zip = await anArchive().zipped();
      const dataset_url = await aDatasetServer(zip);
      const names = ['bystander', 'attacker', 'trains', 'cancels', 'uploads'] as const;
      const keys = names.map((app_id) => newApiKey({ app_id, tier: 'pro' }));
      const { child, url } = await aServiceProcess(keys.map(({ stored }) => stored));
      const faults: string[] = [];
      const counts = new Map<number, number>();
      const [bystander, attacker, trains, cancels, uploads] = keys.map(
        ({ apiKey }) => new Client(url, apiKey, { faults, counts }),
      );
      if (!bystander || !attacker || !trains || !cancels || !uploads) throw new Error('a client is missing');
      const figures = new ProcessFigures(child.pid ?? 0);
      const startedAt = performance.now();
      const at = (share: number) => startedAt + share * MINUTES * 60_000;
      const bystands = (share: number) => repeat(askShortly, bystander, at(share), BYSTANDER_PAUSE_MS);

      await askShortly(bystander, Random.fromSeed(1));
      const alone = await bystands(SHARES.alone);
      const target = { url, apiKey: keys[1]?.apiKey ?? '' };
      const attacks = Promise.all([
        repeat(attack, attacker, at(1)),
        repeat(holdAndBreakOff(target), attacker, at(1), ATTACK_PAUSE_MS),
      ]);
      const attacked = await bystands(SHARES.alone + SHARES.attacked);
      const request = { dataset_url, model_config, training_config };
      await Promise.all([
        attacks,
        bystands(1),
        repeat(trainAskDelete(request), trains, at(1)),
        repeat(askPretrained, trains, at(1)),
        repeat(startAndCancel(request), cancels, at(1)),
        repeat(uploadAndWatch(zip, { model_config, training_config }), uploads, at(1)),
      ]);
      figures.stop();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const [exitCode] = await exited;

      const settled = figures.after(WARM_UP);
      const memory = slopeOf(settled.map(({ minute, residentMebibytes }) => [minute, residentMebibytes]));
      const handles = slopeOf(settled.map(({ minute, handles }) => [minute, handles]));
      const most = Math.max(...figures.samples.map(({ residentMebibytes }) => residentMebibytes));
      const p99s = [quantile(alone, 0.99), quantile(attacked, 0.99)] as const;
      console.log(
        [
          `${MINUTES} minutes; answers by status: ${[...counts].map(([status, count]) => `${status}: ${count}`).join(', ')}`,
          `memory: at most ${most.toFixed(0)} MiB, ${memory.toFixed(2)} MiB/min after warming up`,
          `open files: ${handles.toFixed(2)} more a minute, ${settled.at(-1)?.handles} at the end`,
          `a bystander's p99: ${p99s[0].toFixed(1)} ms alone, ${p99s[1].toFixed(1)} ms attacked, ${(p99s[1] / p99s[0]).toFixed(1)} times`,
        ].join('\n'),
      );
      expect(faults).toEqual([]);
      expect(exitCode).toBe(0);
      if (!IS_LONG) return;
      expect(memory).toBeLessThan(1);
      expect(Math.abs(handles)).toBeLessThan(1);
      expect(p99s[1] / p99s[0]).toBeLessThanOrEqual(3);
    },
    MINUTES * 60_000 + 180_000,
  );
});
