import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
  await tinyCatalogue(application, { fruits: ['apple', 'pear', 'plum'] });
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

it.each(['worker', 'inline'])('hears so, not that the graph does not load, with isolation %s', async (isolation) => {
  const script = `
    import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
    const modelLoader = folderModels('catalogue');
    const predictor = new Predictor({ storage: memoryStorage(), modelLoader, isolation: '${isolation}' });
    const { error } = await predictor.predictPretrained('fruits', 'it');
    console.log(error.code, error.constructor.name, error.message);
    await predictor.close();`;
  await writeFile(join(application, 'app.mjs'), script);
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: application });
  expect(stdout).toMatch(
    /^installation InstallationError onnxruntime-node: onnxruntime has no binary for this platform \(/,
  );
});
