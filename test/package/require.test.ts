import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { install, root } from './install.js';

/** The built package in applications of CommonJS and of ES modules, run by `NODE_BINARY` (this Node where not set). */

const node = process.env.NODE_BINARY ?? process.execPath;
let application: string;

beforeAll(async () => {
  application = await mkdtemp(join(tmpdir(), 'orchard-require-'));
  await install(application);
  await writeFile(join(application, 'package.json'), '{ "type": "commonjs" }');
  await tinyCatalogue(application, { fruits: ['apple', 'pear', 'plum'] });
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

/** What a script of the application prints. */
async function printed(file: string, script: string, flags: readonly string[] = []): Promise<string> {
  await writeFile(join(application, file), script);
  const { stdout } = await promisify(execFile)(node, [...flags, file], { cwd: application });
  return stdout;
}

const ASK = `
  const modelLoader = folderModels('catalogue');
  const predictor = new Predictor({ storage: memoryStorage(), modelLoader });
  predictor.predictPretrained('fruits', 'it').then(async (answer) => {
    console.log(answer._unsafeUnwrap().data.labels.toSorted().join(' '));
    await predictor.close();
  });`;
const ENTRIES = ['orchard-nlp', 'orchard-nlp/testing', 'orchard-nlp/http', 'orchard-nlp/graph', 'orchard-nlp/postgres'];

describe(`on ${node}`, () => {
  it('answers in a CommonJS application', async () => {
    const script = `const { folderModels, memoryStorage, Predictor } = require('orchard-nlp');${ASK}`;
    expect(await printed('asks.js', script)).toBe('apple pear plum\n');
  });

  it('answers in an ES module', async () => {
    const script = `import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';${ASK}`;
    expect(await printed('asks.mjs', script)).toBe('apple pear plum\n');
  });

  it.each([
    ['--input-type=module', '--eval'],
    ['--input-type', 'module', '--max-old-space-size=512', '--eval'],
  ])('answers a script on the command line with %s %s', async (...flags) => {
    const script = `import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';${ASK}`;
    const { stdout } = await promisify(execFile)(node, [...flags, script], { cwd: application });
    expect(stdout).toBe('apple pear plum\n');
  });

  it("answers in a process with V8's options", async () => {
    const script = `const { folderModels, memoryStorage, Predictor } = require('orchard-nlp');${ASK}`;
    expect(await printed('asks.js', script, ['--max-old-space-size=512', '--expose-gc'])).toBe('apple pear plum\n');
  });

  it.each(ENTRIES)('gives require() and import the same %s', async (entry) => {
    const script = `
      const required = require('${entry}');
      import('${entry}').then((imported) => {
        const names = Object.keys(imported).filter((name) => name !== 'module.exports');
        console.log(names.length > 0 && names.every((name) => required[name] === imported[name]));
      });`;
    expect(await printed('compares.js', script)).toBe('true\n');
  });
});

/** Would not compile where the declarations were missing, and so anything allowed. */
const USE = `
const predictor: Predictor = new Predictor({ storage: memoryStorage() });
export const first = predictor.predictPretrained('fruits', 'it').map(({ data }): string[] => data.labels);
// @ts-expect-error: it has no member of this name
predictor.predictAnything;
`;
const IMPORT = "import { memoryStorage, Predictor } from 'orchard-nlp';";
const ASSIGN = `
import orchard = require('orchard-nlp');
import Predictor = orchard.Predictor;
const { memoryStorage } = orchard;`;
const ALL = ENTRIES.map((entry, index) => `import * as entry${index} from '${entry}';`).join('\n');

// Only where `npm run check:package` has built the declarations: that takes too long for every run of the tests.
describe.runIf(process.env.DECLARATIONS_BUILT)('the declarations', () => {
  it('hold in TypeScript of a CommonJS package, and in ES modules', async () => {
    const files = { 'a.ts': IMPORT, 'b.cts': IMPORT, 'c.cts': ASSIGN, 'd.mts': IMPORT };
    for (const [file, imports] of Object.entries(files)) {
      const exported = 'export { entry0, entry1, entry2, entry3 };';
      await writeFile(join(application, file), [imports, ALL, USE, exported].join('\n'));
    }
    const options = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--noEmit', '--types', 'node'];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const run = promisify(execFile)(process.execPath, [tsc, ...options, ...Object.keys(files)], {
      cwd: application,
    });
    const problems = run.then(
      () => '',
      ({ stdout }) => stdout,
    );
    expect(await problems).toBe('');
  }, 120_000);
});
