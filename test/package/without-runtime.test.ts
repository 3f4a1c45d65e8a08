import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtModel } from '../support/small-models.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { install, root } from './install.js';

/** An application on a platform for which onnxruntime-node has no binary, as far as the package can tell. */

let application: string;
beforeAll(async () => {
  application = await mkdtemp(join(tmpdir(), 'orchard-without-runtime-'));
  await install(application);
  const runtime = join(application, 'node_modules', 'onnxruntime-node');
  await unlink(runtime);
  for (const part of ['package.json', 'dist'])
    await cp(join(root, 'node_modules', 'onnxruntime-node', part), join(runtime, part), { recursive: true });
  await tinyCatalogue(application, { fruits: ['apple', 'pear', 'plum'], animals: ['cat', 'dog', 'hen'] });
  const encoder = { model_type: 'distilbert', dim: 16, n_layers: 1, n_heads: 2, hidden_dim: 32 };
  await builtModel('other', application, { encoder: { ...encoder, max_position_embeddings: 300 }, head: 'first' });
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

/** What a program of the application prints, and what the process says of warnings. */
async function run(program: string, args: readonly string[] = []): Promise<{ stdout: string; stderr: string }> {
  const script = `
    import { embed, folderModels, inferenceService, loadModel, memoryStorage, Predictor, search, train } from 'orchard-nlp';
    process.on('warning', ({ name, code, message }) => console.log('warning', name, code, message));
    ${program}`;
  await writeFile(join(application, 'app.mjs'), script);
  return promisify(execFile)(process.execPath, ['app.mjs', ...args], { cwd: application });
}

const MISSING = 'onnxruntime-node: onnxruntime has no binary for this platform (';

describe.each(['worker', 'inline', 'auto'])('with isolation %s', (isolation) => {
  it('models answer by WebAssembly, with one warning that says why, what it costs and what to do', async () => {
    const { stdout } = await run(`
      const storage = memoryStorage();
      const modelLoader = folderModels('catalogue');
      const options = { isolation: '${isolation}', workers: 2 };
      const predictor = new Predictor({ storage, modelLoader, ...options });
      const queries = Array.from({ length: 20 }, (_, at) => 'it is ' + at);
      for (const model of ['fruits', 'animals']) {
        console.log((await predictor.predictPretrainedBatch(model, queries))._unsafeUnwrap().data.length);
      }
      for (const { device, runtime, runtimeFailure } of predictor.stats().models) console.log(device, runtime, runtimeFailure);
      await predictor.close();
      const model = (await loadModel('catalogue/fruits', options))._unsafeUnwrap();
      console.log(model.runtime, (await model.predict('it'))._unsafeUnwrap().label);
      await model.close();`);
    const lines = stdout.trim().split('\n');
    const warnings = lines.filter((line) => line.startsWith('warning '));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('warning OrchardWarning ORCHARD_WASM ');
    expect(warnings[0]).toContain(MISSING);
    expect(warnings[0]).toMatch(/up to 2\.5 times as long.*set the runtime to wasm/);
    const others = lines.filter((line) => !line.startsWith('warning '));
    expect(others.slice(0, 2)).toEqual(['20', '20']);
    expect(others.slice(2, 4)).toEqual([
      expect.stringContaining(`cpu wasm ${MISSING}`),
      expect.stringContaining(`cpu wasm ${MISSING}`),
    ]);
    expect(others[4]).toMatch(/^wasm (?:apple|pear|plum)$/);
  });

  it('the runtime onnx is refused with what is missing and what to do', async () => {
    const { stdout } = await run(`
      const modelLoader = folderModels('catalogue');
      const predictor = new Predictor({ storage: memoryStorage(), modelLoader, isolation: '${isolation}', runtime: 'onnx' });
      const { error } = await predictor.predictPretrained('fruits', 'it');
      console.log(error.code, error.constructor.name, error.message);
      await predictor.close();`);
    expect(stdout).toContain(`installation InstallationError ${MISSING}`);
    expect(stdout).toContain("use `runtime: 'auto'` or `runtime: 'wasm'`");
    expect(stdout).not.toContain('warning');
  });
});

it('the runtime wasm answers without a warning', async () => {
  const { stdout } = await run(`
    const model = (await loadModel('catalogue/fruits', { runtime: 'wasm' }))._unsafeUnwrap();
    console.log((await model.predict(['it', 'a lamp']))._unsafeUnwrap().length);
    await model.close();`);
  expect(stdout).toBe('2\n');
});

it('a device that was asked for is replaced by the CPU, as stats say', async () => {
  const { stdout } = await run(`
    const inference = inferenceService({ device: 'webgpu' });
    const predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels('catalogue'), inference });
    (await predictor.predictPretrained('fruits', 'it'))._unsafeUnwrap();
    const [{ device, deviceFailure }] = predictor.stats().models;
    console.log(device, deviceFailure);
    await inference.close();`);
  expect(stdout).toContain(`cpu ${MISSING}`);
});

it('a model of another architecture is refused with both reasons', async () => {
  const { stdout } = await run(`
    const { error } = await loadModel('other');
    console.log(error.code, error.message);`);
  expect(stdout).toMatch(
    /^installation onnxruntime-node: .*WebAssembly can't replace it for this model: .*config\.json: .*model_type/,
  );
});

it('texts are embedded and searched', async () => {
  const { stdout } = await run(`
    const passages = ['a lamp on the phone', 'the driver came on time'];
    const index = (await search(passages, { model: 'catalogue/fruits' }))._unsafeUnwrap();
    console.log((await index.search('lamp', { k: 1 }))._unsafeUnwrap()[0].passage);
    console.log((await embed(['a lamp', 'a driver'], { model: 'catalogue/fruits' }))._unsafeUnwrap().length);
    await index.close();`);
  expect(stdout.split('\n').filter((line) => !line.startsWith('warning'))).toEqual(['a lamp on the phone', '2', '']);
});

it('training is refused with what it needs', async () => {
  const { stdout } = await run(`
    const rows = Array.from({ length: 20 }, (_, at) => ({ text: 'it is ' + at, label: at % 2 ? 'odd' : 'even' }));
    const { error } = await train({ rows });
    console.log(error.code, error.message);`);
  expect(stdout).toContain(`installation ${MISSING}`);
  expect(stdout).toContain('training needs it');
});

it('the command warns once and takes --runtime', async () => {
  const orchard = join(application, 'node_modules', 'orchard-nlp', 'dist', 'orchard.js');
  const asked = (...args: string[]) =>
    promisify(execFile)(process.execPath, [orchard, 'predict', 'catalogue/fruits', 'it', ...args], {
      cwd: application,
    });
  const usual = await asked();
  expect(usual.stdout).toMatch(/^(?:apple|pear|plum)\t/);
  expect(usual.stderr.match(/ORCHARD_WASM/g)).toHaveLength(1);
  expect(await asked('--runtime', 'wasm')).toEqual({ stdout: usual.stdout, stderr: '' });
  await expect(asked('--runtime', 'onnx')).rejects.toThrow(MISSING);
});
