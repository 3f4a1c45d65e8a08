import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fileStorage, ModelVersions, Predictor } from 'orchard-nlp';
import { trainSmallModel } from './http/small-model.js';
import { machine, median, quantile } from './report.js';

/**
 * Names that point to models: how soon another process on the same folder follows a promotion, what a name adds to an
 * answer, and what a shadow adds. Two mini models are trained on the reviews in examples/ first.
 * Usage: `npm run bench -- versions [--promotions 40] [--rounds 5] [--seconds 3]`.
 */

const { values: options } = parseArgs({
  options: {
    promotions: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    /** The other process: asks in this folder all the time, and prints when the last query was asked that an earlier model answered. */
    observe: { type: 'string' },
  },
});
const NAME = 'support@production';
const QUERY = 'The driver was kind, and the parcel came on time.';
const ASKED_EVERY_MS = 5;

const now = () => performance.timeOrigin + performance.now();

async function observe(folder: string): Promise<void> {
  const predictor = new Predictor({ storage: fileStorage(folder) });
  let model: string | undefined;
  for (let lastAsked = now(); ; await delay(ASKED_EVERY_MS)) {
    const asked = now();
    const { metadata } = (await predictor.predictCustom(NAME, QUERY))._unsafeUnwrap();
    if (metadata.model_id !== model) console.log(JSON.stringify({ lastAsked }));
    model = metadata.model_id;
    lastAsked = asked;
  }
}

async function measureDelay(folder: string, versions: ModelVersions, ids: readonly string[]): Promise<void> {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), '--observe', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const seen = async () => JSON.parse((await lines.next()).value ?? '{}');
  await seen();
  const [delays, promotions]: number[][] = [[], []];
  for (let count = 0; count < Number(options.promotions); count += 1) {
    await delay(1000 * Math.random());
    const startedAt = now();
    (await versions.promote(NAME, ids[(count + 1) % 2] ?? ''))._unsafeUnwrap();
    const promotedAt = now();
    promotions?.push(promotedAt - startedAt);
    delays?.push(Math.max(0, (await seen()).lastAsked - promotedAt));
  }
  child.kill();
  for (const [what, values = []] of Object.entries({
    'a promotion': promotions,
    'last query of another process to the model before': delays,
  })) {
    const [p50, most] = [median(values), Math.max(...values)].map((ms) => `${ms.toFixed(0)} ms`);
    console.log(`${what}: median ${p50}, at most ${most}, of ${values.length}`);
  }
}

async function measureAnswers(folder: string, versions: ModelVersions, ids: readonly string[]): Promise<void> {
  await using predictor = new Predictor({ storage: fileStorage(folder) });
  const [first = '', second = ''] = ids;
  const ways = ['by id', 'by name', 'by name, with a shadow'].map((what) => ({
    what,
    taken: [] as number[],
    cpuMs: 0,
  }));
  (await versions.promote(NAME, first))._unsafeUnwrap();
  (await predictor.warmCustom([first]))._unsafeUnwrap();
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // Each way is first, second and last in turn.
    for (const way of [...ways.slice(round % 3), ...ways.slice(0, round % 3)]) {
      const { what, taken } = way;
      const isShadowed = what.includes('shadow');
      (await (isShadowed ? versions.setShadow(NAME, second) : versions.clearShadow(NAME)))._unsafeUnwrap();
      await delay(1500);
      const before = process.cpuUsage();
      for (const end = now() + 1000 * Number(options.seconds); now() < end; await delay(ASKED_EVERY_MS)) {
        const startedAt = performance.now();
        (await predictor.predictCustom(what === 'by id' ? first : NAME, QUERY))._unsafeUnwrap();
        taken.push(performance.now() - startedAt);
      }
      const { user, system } = process.cpuUsage(before);
      way.cpuMs += (user + system) / 1000;
      await delay(1500);
      const { shadow } = (await versions.get(NAME))._unsafeUnwrap();
      if (shadow !== null) console.log(`shadow: ${shadow.asked} asked, ${shadow.dropped} dropped`);
    }
  }
  const rows = ways.map(({ what, taken, cpuMs }) => ({
    what,
    queries: taken.length,
    p50: quantile(taken, 0.5).toFixed(2),
    p99: quantile(taken, 0.99).toFixed(2),
    'processor time per query': (cpuMs / taken.length).toFixed(2),
  }));
  console.table(rows);
}

if (options.observe === undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-versions-'));
  const ids = [await trainSmallModel(folder, 'local'), await trainSmallModel(folder, 'local')];
  const versions = new ModelVersions({ storage: fileStorage(folder) });
  (await versions.promote(NAME, ids[0] ?? ''))._unsafeUnwrap();
  console.log(`${machine()}; times in ms, a query every ${ASKED_EVERY_MS} ms`);
  await measureDelay(folder, versions, ids);
  await measureAnswers(folder, versions, ids);
  await rm(folder, { recursive: true });
} else {
  await observe(options.observe);
}
