import { rm } from 'node:fs/promises';
import { memoryStorage, Trainer } from 'orchard-nlp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClassificationDataset } from '../../src/families/classification/classification-dataset.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { estimateMemory, requireMemory } from '../../src/training/memory-estimate.js';
import { workerHost } from '../../src/training/training-host.js';
import { sentimentRequest, temporaryFolder } from '../public/sentiments.js';
import { failureOf } from '../support/outcomes.js';

/** A job that needs too much memory ends in ERROR, and nothing else ends with it. */

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

const GIB = 1024 ** 3;
const spec = {
  model_config: { name: 'x', type: 'multiclass-text-classification', family: 'Papaya', size: 'mini' },
} as const;
const plain = { batchSize: 32, maxTokens: 256, augment: false };

/** As many rows as labels, each with a text of its own. */
function labelled(labels: number): ClassificationDataset {
  const train = Array.from({ length: labels }, (_, id) => ({
    text: `text number ${id * 7919}`,
    labelIds: [id],
  }));
  return { kind: 'multiclass', labels: train.map((_, id) => `l${id}`), train, dev: train, warnings: [] };
}

function estimated(labels: number) {
  return estimateMemory(classificationTask(labelled(labels), 'mean'), spec, plain);
}

describe('the estimate of a training', () => {
  it('sees that many labels take memory that few do not', () => {
    expect(estimated(4).labels).toBeLessThan(0.05 * GIB);
    expect(estimated(5000).labels).toBeGreaterThan(2 * GIB);
  });

  it('names the need, the limit and what takes the most', async () => {
    const error = await failureOf('training', () => requireMemory('j1', estimated(5000), 2 * GIB));
    expect(error.message).toMatch(/^training job j1 needs about \d+\.\d\d GiB of memory/);
    expect(error.message).toContain('the limit is 2.00 GiB (`memoryLimit`)');
    expect(error.message).toContain('use fewer labels');
  });
});

it('a need just above the limit never reads the same', async () => {
  const estimate = { weights: 4 * GIB, step: 0, texts: 0, labels: 0 };
  for (let limit = 4 * GIB; limit < 4.1 * GIB; limit += GIB / 999) {
    const { message } = await failureOf('training', () => requireMemory('j1', estimate, limit));
    const [need, allowed] = [...message.matchAll(/(\d\.\d\d) GiB/g)].map(([, figure]) => Number(figure));
    expect(need).toBeGreaterThan(Number(allowed));
  }
});

describe('a trainer with a memoryLimit', () => {
  it('ends a job that needs more in ERROR, with both figures', async () => {
    const memoryLimit = 300 * 1024 ** 2;
    await using trainer = new Trainer({ storage: memoryStorage(), isolation: 'inline', memoryLimit });
    const { id } = (await trainer.createTrainingJob(await sentimentRequest(folder)))._unsafeUnwrap();
    const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
    expect(job.status).toBe('ERROR');
    expect(job.error?.message).toMatch(
      /needs about 0\.\d+ GiB of memory, but the limit is 0\.29 GiB \(`memoryLimit`\)/,
    );
  });

  it('loses only the run whose worker fills its heap all the same', async () => {
    const host = workerHost(new URL('./workers/fill-heap.mjs', import.meta.url));
    await using trainer = new Trainer({ storage: memoryStorage(), host, memoryLimit: 100 * 1024 ** 2 });
    const { id } = (await trainer.createTrainingJob(await sentimentRequest(folder)))._unsafeUnwrap();
    const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
    expect(job.status).toBe('ERROR');
    expect(job.error?.message).toContain('memory');
    await host.close();
  });
});
