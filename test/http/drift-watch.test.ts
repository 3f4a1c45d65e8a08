import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { makeBaseline } from '../../src/drift/index.js';
import { runToEnd } from '../../src/system/index.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { aService, MODEL, type ServiceInTest, useCatalogue } from './a-service.js';

/** What /metrics tells of the drift of custom models. */

const LABELS = ['negative', 'neutral', 'positive'] as const;
/** Of all texts of the baseline, and of no answer of the untrained model. */
const USUAL_LABEL = 'positive';
const usual = Array.from({ length: 60 }, (_, at) => `the lamp in room ${at % 9} works with switch ${at % 4}`);
const foreign = Array.from({ length: 60 }, (_, at) => `zanzibar ferries leave pier ${'abcdefghijk'[at % 11]} soon`);

const catalogue = useCatalogue(async (folder) => {
  const directory = await tinyCatalogue(folder, { [MODEL]: LABELS });
  const texts = usual.map((text) => ({ text, labels: [USUAL_LABEL] }));
  const input = { origin: 'training', known: usual, texts, labels: LABELS } as const;
  await writeFile(join(directory, MODEL, 'baseline.json'), JSON.stringify(runToEnd(makeBaseline(input, 0))));
  return directory;
});

const shortOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 12);

async function metrics({ ask }: ServiceInTest): Promise<string> {
  return (await ask('GET', '/metrics', { as: null })).body;
}

/** Asks until the first query is counted: those before the baseline is read are not. */
async function askUntilWatched(service: ServiceInTest, id: string, queries: readonly string[]): Promise<void> {
  const path = `/predictor/language/model/${id}`;
  const first = { body: { query: queries[0] } };
  await vi.waitFor(
    async () => {
      await service.ask('POST', path, first);
      expect(await metrics(service)).toContain(`orchard_drift_texts{app_id="acme",model="${shortOf(id)}"}`);
    },
    { timeout: 20_000 },
  );
  for (let start = 0; start < queries.length; start += 20) {
    const body = { queries: queries.slice(start, start + 20) };
    await service.ask('POST', `/batch-predictor/language/model/${id}`, { body });
  }
}

function gauge(text: string, name: string): number {
  return Number(new RegExp(`^orchard_drift_${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

describe('a service that watches for drift', () => {
  it('raises the alarm for unusual queries, and shows neither the id nor a text', async () => {
    const service = await aService(catalogue, { watchDrift: true });
    const id = await service.aReadyModel();
    await askUntilWatched(service, id, foreign);
    const text = await metrics(service);
    expect(gauge(text, 'texts')).toBeGreaterThanOrEqual(60);
    expect(gauge(text, 'known_share')).toBe(0);
    expect(gauge(text, 'known_share_baseline')).toBeGreaterThan(0.9);
    expect(gauge(text, 'alarm')).toBe(1);
    expect(text).not.toContain(id);
    expect(text).not.toMatch(/zanzibar|ferries/);
  });

  it('counts at most 500 of the latest queries', async () => {
    const service = await aService(catalogue, { watchDrift: true });
    const id = await service.aReadyModel();
    await askUntilWatched(service, id, Array.from({ length: 10 }, () => foreign).flat());
    await askUntilWatched(service, id, Array.from({ length: 10 }, () => usual).flat());
    const text = await metrics(service);
    expect(gauge(text, 'texts')).toBe(500);
    expect(gauge(text, 'known_share')).toBe(1);
  });

  it('shows by how much the share of a label has shifted most', async () => {
    const service = await aService(catalogue, { watchDrift: true });
    const id = await service.aReadyModel();
    await askUntilWatched(service, id, usual);
    const path = `/batch-predictor/language/model/${id}`;
    const answers: string[] = [];
    for (let start = 0; start < usual.length; start += 20) {
      const { data } = (await service.ask('POST', path, { body: { queries: usual.slice(start, start + 20) } })).body;
      answers.push(...data.map(({ labels }: { readonly labels: readonly string[] }) => labels[0]));
    }
    const shifts = LABELS.map((label) => {
      const share = answers.filter((each) => each === label).length / answers.length;
      return Math.abs(share - Number(label === USUAL_LABEL));
    });
    const shift = Math.max(...shifts);
    expect(shift).toBeGreaterThan(0.5);
    // The first query was counted some times before the others.
    expect(gauge(await metrics(service), 'label_shift')).toBeCloseTo(shift, 1);
  });

  it('forgets a model that is deleted, and all of an account that is erased', async () => {
    const service = await aService(catalogue, { watchDrift: true });
    const [id, other] = [await service.aReadyModel(), await service.aReadyModel()];
    await askUntilWatched(service, id, usual);
    await askUntilWatched(service, other, usual);
    await service.ask('DELETE', `/trainer/language/models/${id}`);
    expect(await metrics(service)).not.toContain(shortOf(id));
    expect(await metrics(service)).toContain(shortOf(other));
    await service.services.operator.eraseAccount('stranger');
    expect(await metrics(service)).toContain(shortOf(other));
    await service.services.operator.eraseAccount('acme');
    expect(await metrics(service)).not.toContain(shortOf(other));
  });

  it('counts nothing by default', async () => {
    const service = await aService(catalogue);
    const id = await service.aReadyModel();
    await service.ask('POST', `/predictor/language/model/${id}`, { body: { query: 'the lamp' } });
    expect(await metrics(service)).not.toContain('orchard_drift');
  });
});
