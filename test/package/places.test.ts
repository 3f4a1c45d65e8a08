import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Hardened processes: `npm run bench -- places` has more of them, with other runtimes, and needs root for some. */

const library = new URL('../../dist/index.js', import.meta.url).href;
const root = fileURLToPath(new URL('../..', import.meta.url));
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** What a program printed that has the library's functions, some rows, and its arguments as `given`. */
function run(flags: readonly string[], code: string, env: Readonly<Record<string, string>> = {}) {
  const program = `
    const { createClassificationArchive, embed, listModels, loadModel, train } = await import(${JSON.stringify(library)});
    const rows = Array.from({ length: 20 }, (_, at) => ({ text: 'lamp ' + at + (at % 2 ? ' works' : ' broke'), label: at % 2 ? 'good' : 'bad' }));
    const quick = { rows, epochs: 1, pretrained: false, threads: 1 };
    const told = (result) => console.log(result.isOk() ? 'ok' : result.error.code + ': ' + result.error.message);
    ${code}`;
  const args = [...flags, '--input-type=module', '--eval', program];
  const given = { ...process.env, NODE_NO_WARNINGS: '1', ...env };
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env: given });
  return `${stdout}${stderr}`.trim().split('\n');
}

const TRAIN_AND_EMBED = `
  const trained = await train(quick);
  told(trained);
  if (trained.isOk()) await trained.value.close();
  told(await embed(['one text', 'another text']));`;

it('trains and embeds without code from strings', () => {
  expect(run(['--disallow-code-generation-from-strings'], TRAIN_AND_EMBED)).toEqual(['ok', 'ok']);
});

it('trains and embeds with --permission, and names the flags that a child process and ONNX Runtime need', () => {
  const flags = [PERMISSION, '--allow-fs-read=*', '--allow-fs-write=*', '--allow-addons', '--allow-worker'];
  const inProcess = `${TRAIN_AND_EMBED} told(await train({ ...quick, isolation: 'process' }));`;
  const told =
    'installation: --allow-child-process: training a model needs this flag when Node.js runs with --permission';
  expect(run(flags, inProcess)).toEqual(['ok', 'ok', told]);
  expect(
    run(
      flags.filter((flag) => flag !== '--allow-addons'),
      `told(await embed(['one text', 'another text']));
       told(await embed(['a'], { runtime: 'onnx' }));`,
    ),
  ).toEqual(['ok', expect.stringMatching(/^installation: onnxruntime-node: .*add --allow-addons/)]);
});

it('keeps to the folders that --permission lets it write', () => {
  const folder = temporaryDirectory();
  const flags = [
    PERMISSION,
    '--allow-fs-read=*',
    `--allow-fs-write=${join(folder, '*')}`,
    '--allow-addons',
    '--allow-worker',
  ];
  mkdirSync(join(folder, 'temporary'));
  expect(run(flags, TRAIN_AND_EMBED, { TMPDIR: join(folder, 'temporary') })).toEqual(['ok', 'ok']);
  const elsewhere = run(flags, TRAIN_AND_EMBED, { TMPDIR: '/' });
  for (const line of elsewhere)
    expect(line).toBe(
      "storage: temporary files can't be written to /; set the environment variable TMPDIR to a writable folder",
    );
  const other = temporaryDirectory();
  const elsewhereFolder = join(other, 'models', 'lamps');
  const written = run(
    flags,
    `const model = await loadModel('sentiment-classification');
    told(await model.value.save(${JSON.stringify(elsewhereFolder)}));
    told(await train({ ...quick, output: ${JSON.stringify(elsewhereFolder)} }));
    told(await createClassificationArchive({ rows, name: 'lamps', type: 'binary-text-classification' }, ${JSON.stringify(`${elsewhereFolder}.zip`)}));`,
    { TMPDIR: join(folder, 'temporary') },
  );
  const flag = `Node.js runs with --permission; add --allow-fs-write=${other}`;
  expect(written).toEqual([
    `storage: writing ${elsewhereFolder}: ${flag}`,
    `validation: output: ${elsewhereFolder} can't be written: ${flag}`,
    `storage: writing ${elsewhereFolder}.zip: ${flag}`,
  ]);
  const more = [...flags, `--allow-fs-write=${other}`];
  const saved = `const model = await loadModel('sentiment-classification'); told(await model.value.save(${JSON.stringify(elsewhereFolder)}));`;
  expect(run(more, saved)).toEqual(['ok']);
});

it('says what to give where the user has no home', () => {
  const told = run(
    [],
    `const { default: os } = await import('node:os');
    const { syncBuiltinESMExports } = await import('node:module');
    os.homedir = () => {
      throw new Error('uv_os_homedir returned ENOENT');
    };
    syncBuiltinESMExports();
    told(await loadModel('owner/name'));
    told(await listModels());`,
    { HF_HOME: '', HF_HUB_CACHE: '', XDG_CACHE_HOME: '', ORCHARD_MODELS_DIRECTORY: '' },
  );
  const missing =
    'validation: cacheDirectory: there is no home folder to keep models in; give a folder, or set HF_HOME';
  expect(told).toEqual([missing, 'ok']);
});
