import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Bundler, bundlers } from './bundlers/bundlers.js';
import { askNext, outcomeOf, run } from './bundlers/run.js';
import { machine } from './report.js';

/**
 * The package inside an application's bundle: what each bundler makes of it, beside the package and far from it. Fetches
 * the bundlers, some hundred megabytes, into a temporary folder; examples/bundlers has their settings.
 *
 * Usage: `npm run bench -- bundlers [--only esbuild,tsup,webpack,vite,next] [--keep <folder>]`.
 */

const { values: options } = parseArgs({
  options: { only: { type: 'string', default: Object.keys(bundlers).join() }, keep: { type: 'string' } },
});
const root = fileURLToPath(new URL('..', import.meta.url));
const examples = join(root, 'examples', 'bundlers');
const catalogue = join(root, 'models', 'catalogue');
const workplace = options.keep ?? (await mkdtemp(join(tmpdir(), 'orchard-bundlers-')));
await mkdir(workplace, { recursive: true });

await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), workplace, '--library'], root);
const chosen = options.only.split(',');
const rows: string[] = [];
for (const [name, bundler] of Object.entries(bundlers)) {
  if (chosen.includes(name)) rows.push(...(await rowsOf(name, bundler)));
}
console.log(`${machine()}\n\n| bundler | where the bundle is run | asks | trains |\n| --- | --- | --- | --- |`);
console.log(rows.join('\n'));
if (options.keep === undefined) await rm(workplace, { recursive: true });

async function rowsOf(name: string, bundler: Bundler): Promise<string[]> {
  const application = join(workplace, name);
  await mkdir(application, { recursive: true });
  const tarball = join(workplace, 'orchard-nlp-0.1.0.tgz');
  await writeFile(join(application, 'package.json'), '{ "private": true }');
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball, ...bundler.packages];
  await run('npm', install, application);
  for (const file of bundler.files) await cp(join(examples, file), join(application, file), { recursive: true });
  if (name === 'next') await cp(join(examples, '..', 'projects', 'next'), application, { recursive: true });
  const [command = '', ...args] = bundler.build;
  await run(command, args, application);
  const label = `${name} ${await versionOf(application, bundler.packages[0])}`;
  if (name === 'next') return [`| ${label} | standalone | ${await askNext(application, catalogue)} | |`];
  const beside = await outcomeOf(join(application, bundler.output), catalogue);
  const far = join(workplace, `${name}-far`);
  await cp(join(application, 'out'), join(far, 'out'), { recursive: true });
  // Some bundles remember where they were built.
  const moved = `${application}-moved`;
  await rename(application, moved);
  const bare = await outcomeOf(join(far, bundler.output), catalogue);
  for (const native of ['onnxruntime-node', 'onnxruntime-common'])
    await cp(join(moved, 'node_modules', native), join(far, 'node_modules', native), { recursive: true });
  const withRuntime = await outcomeOf(join(far, bundler.output), catalogue);
  return [
    `| ${label} | beside node_modules | ${beside.join(' | ')} |`,
    `| | elsewhere, with onnxruntime-node | ${withRuntime.join(' | ')} |`,
    `| | elsewhere, alone | ${bare.join(' | ')} |`,
  ];
}

async function versionOf(application: string, name = ''): Promise<string> {
  const manifest = join(application, 'node_modules', name, 'package.json');
  const { default: content } = await import(manifest, { with: { type: 'json' } });
  return content.version;
}
