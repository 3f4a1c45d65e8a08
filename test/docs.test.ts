import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BENCHES } from '../scripts/bench.mjs';

/** What README and docs show is what runs. */

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The TypeScript blocks of a page that name the file they show. */
function shownFiles(page: string): { name: string; code: string }[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g);
  return [...blocks].map(([, name = '', code = '']) => ({ name, code }));
}

describe.each(pages)('%s', (page) => {
  it('shows files as they are', () => {
    for (const { name, code } of shownFiles(page)) expect(code).toBe(readFileSync(join(root, name), 'utf8'));
  });

  it('links only to what exists', () => {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      expect(() => readFileSync(new URL(target, pathToFileURL(join(root, page))))).not.toThrow();
    }
  });

  // CHANGELOG.md may name earlier ones.
  it.skipIf(page === 'CHANGELOG.md')('names only npm scripts and benches that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, script = ''] of text.matchAll(/npm run ([a-z:-]*[a-z])/g)) expect(scripts).toHaveProperty(script);
    for (const [, bench = ''] of text.matchAll(/npm run bench -- ([a-z-]*[a-z])/g))
      expect(BENCHES).toHaveProperty(bench);
  });
});

describe('examples that train', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'orchard-quick-start-'));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['quick-start.ts', 'customer-reviews', /(positive|negative) 0\.\d+/],
    ['adapters.ts', 'customer-reviews', /(positive|negative) 0\.\d+/],
    ['entities.ts', 'news-entities', /^LOC "Vienna" at 22, [01]\.\d+$/m],
    ['train-rows.ts', 'customer-reviews', /^(posi|nega)tive 0\.\d\d$/m],
    ['distill.ts', 'customer-reviews', /^agreement [01]\.\d\d on 6 texts; 0 answers from earlier calls\npraise$/m],
    ['pairs.ts', 'customer-reviews', /^(same|other) [01]\.\d\d$/m],
    [
      'tune.ts',
      'customer-reviews',
      /^trial 0: accuracy [01]\.\d\d, finished, \{\}$[\s\S]*^trial 1: [\s\S]*^the best is trial/m,
    ],
    ['check-data.ts', 'customer-reviews', /^"Great sound" is labelled positive and negative$/m],
    ['cross-validate.ts', 'customer-reviews', /^accuracy [01]\.\d\d ± [01]\.\d\d$/m],
    ['suggest-texts.ts', 'customer-reviews', /^(0\.\d\d .*\n){3}$/],
    [
      'rules.ts',
      'customer-reviews',
      /^PRODUCT "ACME phone pro" at 25, by rule products$[\s\S]*^\[name\] ordered the ACME/m,
    ],
    ['label-rules.ts', 'customer-reviews', /^negative 1\.00 \(rule 0 decided negative\)$\n^negative 1\.00 \(rule 1/m],
    ['drift.ts', 'customer-reviews', /^the texts drifted:\n(- .*\n)+oddest: Which train/],
    ['load-model.ts', 'customer-reviews', /^PER "Ada Lovelace" at 0$[\s\S]*^LOC "Vienna" at 15$/m],
    ['search-passages.ts', 'customer-reviews', /^0\.\d\d The library opens at nine.*$[\s\S]*^nothing about "Who won/m],
    ['changing-index.ts', 'customer-reviews', /^prints: A printed page costs fifteen cents\.$/m],
    [
      'versions.ts',
      'customer-reviews',
      /^Ok \{ value: true \}\nOk \{ value: 'agreed (1, disagreed 0|0, disagreed 1)' \}\nOk \{ value: true \}$/m,
    ],
    ['japanese.ts', 'customer-reviews', /^[満不][足満] [01]\.\d\d\nalarm_set\n印刷は一枚十五円です。$/m],
    ['questions.ts', 'library-questions', /^0\.\d+ If you lose your card, tell us/],
  ])(
    '%s learns %s and answers',
    async (script, dataset, answer) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [
          '--import',
          import.meta.resolve('tsx'),
          join(root, 'examples', script),
          pathToFileURL(join(root, 'examples', dataset)).href,
        ],
        { cwd: folder },
      );
      expect(stdout).toMatch(answer);
    },
    240_000,
  );
});
