import { accessSync, constants, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { newApiKey } from '../../src/http/index.js';
import { anArchive } from '../support/archive-builder.js';
import { aDatasetServer, aServiceProcess } from './service-process.js';
import { Client } from './soak/client.js';

/** A service that may use 1.5 GB, as in a container. Needs a memory controller of version 1 that it may write to. */

const CONTROLLER = '/sys/fs/cgroup/memory';
const LIMIT_BYTES = 1.5 * 2 ** 30;
/** Fewer than a dataset may have, and more than this memory has room for. */
const LABELS = 4800;

const training_config = { num_epochs: 1, batch_size: 8, use_pretrained: false };

function mayWrite(): boolean {
  try {
    accessSync(join(CONTROLLER, 'memory.limit_in_bytes'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** @returns what starts a program in a group of processes with so much memory. */
function inSmallMemory(): readonly string[] {
  const group = join(CONTROLLER, `orchard-test-${process.pid}`);
  mkdirSync(group);
  onTestFinished(async () => {
    await expect.poll(() => rmdirSync(group), { timeout: 10_000 }).toBeUndefined(); // once its processes have gone
  });
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(LIMIT_BYTES));
  return ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', group];
}

async function ended(client: Client, id: string) {
  for (;;) {
    const { body } = await client.send('GET', `/trainer/language/training-jobs/${id}`);
    const { data } = JSON.parse(body);
    if (['READY', 'ERROR'].includes(data.status)) return data;
    expect((await client.send('GET', '/health')).status).toBe(200);
    await delay(100);
  }
}

it.skipIf(!mayWrite())('refuses a training that its memory has no room for, and trains the next', async () => {
  const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });
  const labels = Array.from({ length: LABELS }, (_, id) => `label ${id}`);
  const rows = labels.map((label, id) => [`a text about ${label} and nothing else`, id] as const);
  const large = anArchive()
    .withConfig({ NUM_CLASS_LABELS: LABELS })
    .withLabels(labels)
    .withRows(rows)
    .withDevRows(rows);
  const { url } = await aServiceProcess([stored], inSmallMemory());
  const client = new Client(url, apiKey, { faults: [], counts: new Map() });
  const train = async (zip: Buffer, type: string) => {
    const dataset_url = await aDatasetServer(zip);
    const model_config = { name: 'texts', type, family: 'Papaya', size: 'mini' };
    return ended(client, (await client.createJob({ dataset_url, model_config, training_config })) ?? '');
  };
  const refused = await train(await large.zipped(), 'multiclass-text-classification');
  expect(refused.status).toBe('ERROR');
  expect(refused.error.message).toMatch(/memory/);
  const trained = await train(await anArchive().zipped(), 'binary-text-classification');
  expect(trained.status).toBe('READY');
});
