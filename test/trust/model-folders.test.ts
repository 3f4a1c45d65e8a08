import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { tinyModels } from './tiny-models.js';
import { tryMutants } from './try-mutants.js';

/** How many spoiled folders are tried: `npm run test:fuzz` tries 10,000. */
const FOLDERS = Number(process.env.FUZZ_FOLDERS ?? 60);
/** Another seed tries others. */
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);
const EXPECTED = ['answered', 'model_folder', 'validation'];
const HANG_MS = 20_000;
const MAX_RSS_MB = 1_500;

it(
  `answers, or says which file is wrong, whatever is in a model folder (${FOLDERS} folders)`,
  async () => {
    const parent = temporaryDirectory();
    const bases = Object.values(await tinyModels(parent));
    const seeds = Array.from({ length: FOLDERS }, (_, at) => FIRST_SEED + at);
    const from = performance.now();
    const { attempts, casualties } = await tryMutants(seeds, {
      mutant: join(parent, 'mutant'),
      bases,
      hangMs: HANG_MS,
    });
    const seconds = (performance.now() - from) / 1000;
    const untyped = attempts.filter(({ outcomes }) => outcomes.some((outcome) => !EXPECTED.includes(outcome)));
    const slow = attempts.filter(({ ms }) => ms > 5_000);
    const answered = attempts.filter(({ outcomes: [asked] }) => asked === 'answered').length;
    const mostMb = attempts.reduce((most, { rssMb }) => Math.max(most, rssMb), 0);
    console.info(
      `${FOLDERS} folders in ${seconds.toFixed(0)} s: ${answered} answered, at most ${mostMb.toFixed(0)} MB`,
    );
    expect({ untyped, casualties, slow }).toEqual({ untyped: [], casualties: [], slow: [] });
    expect(mostMb).toBeLessThan(MAX_RSS_MB);
  },
  120_000 + FOLDERS * 1_000,
);
