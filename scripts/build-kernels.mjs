/**
 * Compiles src/engine/kernels/assembly/ (AssemblyScript) into src/engine/kernels/generated.ts, which holds the WebAssembly module
 * as base64. Does nothing where the output is newer than its sources, this script and the compiler.
 */
import { readdir, rename, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sourceDirectory = 'src/engine/kernels/assembly';
const output = join(root, 'src/engine/kernels/generated.ts');

if (await isUpToDate()) process.exit(0);
const module = await compile();
await replaceFile(
  output,
  `/** The kernels of assembly/ as a WebAssembly module. Made by scripts/build-kernels.mjs; not edited. */
export const KERNELS_WASM_BASE64 =
  '${Buffer.from(module).toString('base64')}';
`,
);
console.log(`src/engine/kernels/generated.ts: ${module.length.toLocaleString('en-US')} bytes of WebAssembly`);

async function isUpToDate() {
  const compiler = createRequire(import.meta.url).resolve('assemblyscript/package.json');
  const sources = (await readdir(join(root, sourceDirectory))).map((name) => join(root, sourceDirectory, name));
  const written = await modifiedMs(output);
  const newest = await Promise.all([...sources, compiler, fileURLToPath(import.meta.url)].map(modifiedMs));
  return written > Math.max(...newest);
}

/** When a file was last written, in ms since 1970; 0 where there is none. */
async function modifiedMs(path) {
  const stats = await stat(path).catch(() => undefined);
  return stats?.mtimeMs ?? 0;
}

/** Compiles to the bytes of the module. Throws with the compiler's own messages. */
async function compile() {
  // Loaded only now: the compiler takes half a second to start.
  const { default: asc } = await import('assemblyscript/asc');
  let binary;
  const options = [
    ['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'],
    ['--runtime', 'stub', '--importMemory', '--noExportMemory', '--enable', 'simd'],
    ['--uncheckedBehavior', 'always', '--outFile', 'kernels.wasm', '--baseDir', root],
  ].flat();
  const { error, stderr } = await asc.main([`${sourceDirectory}/index.ts`, ...options], {
    writeFile: (_name, contents) => {
      binary = contents;
    },
  });
  if (error || binary === undefined) throw new Error(`the kernels do not compile\n${stderr.toString()}`);
  return binary;
}

/** Writes beside the file and renames, so that no other process reads half of it. */
async function replaceFile(path, contents) {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, contents);
  await rename(temporary, path);
}
