import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { install, root } from './install.js';

/** An application that installs the library alone, and pulls the one model that it asks. */

let application: string;
beforeAll(async () => {
  application = await mkdtemp(join(tmpdir(), 'orchard-pull-'));
  await install(application);
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

const told = (result: string) => `(${result}).match((value) => value, ({ code, message }) => code + ' ' + message)`;
const SCRIPT = `
import { memoryStorage, Predictor, pullModel, verifyModel } from 'orchard-nlp';
const predictor = new Predictor({ storage: memoryStorage() });
const ask = async () => ${told("await predictor.predictPretrained('sentiment-classification', 'a fine film')")};
console.log(await ask());
console.log(${told("await pullModel('sentiment-classification')")});
console.log(${told("await pullModel('sentiment-classification', { from: process.argv[2] })")}.bytes);
console.log(${told("await verifyModel('sentiment-classification')")}.problems.length);
console.log((await ask()).data.labels[0]);
await predictor.close();
`;

it('says what brings a model, brings it, and answers', async () => {
  await writeFile(join(application, 'app.mjs'), SCRIPT);
  const env = { ...process.env, XDG_CACHE_HOME: join(application, 'cache') };
  const args = ['app.mjs', join(root, 'models')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: application, env });
  const [absent, without, bytes, problems, answer] = stdout.split('\n');
  expect(absent).toMatch(/^not_found .*npx orchard models pull sentiment-classification/);
  expect(without).toMatch(/^validation from: say where the files of orchard-nlp-models are: .*ORCHARD_MODELS_FROM/);
  expect(Number(bytes)).toBeGreaterThan(6e6);
  expect([problems, answer]).toEqual(['0', 'positive']);
  const kept = await readdir(join(application, 'cache', 'orchard-nlp', 'models', '0.1.0', 'catalogue'));
  expect(kept).toEqual(['sentiment-classification']);
});
