import { readFileSync } from 'node:fs';
import { build, type Metafile } from 'esbuild';
import { describe, expect, it } from 'vitest';

/** The limits of docs/web.md, in bytes: minified, not compressed. */
const MAX_LOADED = 120_000;
const MAX_WASM = 40_000;

/** `openModel` of the package, bundled as an application's bundler does it for a page. */
async function pageWithOpenModel() {
  const { outputFiles, metafile } = await build({
    stdin: { contents: "export { openModel } from './dist/web.js';", resolveDir: '.' },
    ...{ bundle: true, minify: true, splitting: true, write: false, metafile: true, outdir: 'page', charset: 'utf8' },
    ...{ format: 'esm', platform: 'browser', logLevel: 'silent' },
  });
  return { files: outputFiles.map(({ text }) => text), outputs: metafile.outputs, inputs: metafile.inputs };
}

/** The kernels in the JavaScript, which are WebAssembly. */
function embeddedKernels(files: readonly string[]): { readonly text: number; readonly bytes: Buffer } {
  const [text = ''] = files.flatMap((file) => /"(AGFzbQ[A-Za-z0-9+/=]*)"/.exec(file)?.[1] ?? []);
  return { text: text.length, bytes: Buffer.from(text, 'base64') };
}

/** What is loaded with a file: it and all that it imports at once. */
function loadedWith(name: string, outputs: Metafile['outputs'], seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const { path, kind } of outputs[name]?.imports ?? []) {
    if (kind === 'import-statement') loadedWith(path, outputs, seen);
  }
  return seen;
}

describe('a page with openModel', () => {
  it('bundles without a module of Node', async () => {
    const { files, inputs, outputs } = await pageWithOpenModel();
    expect(Object.keys(inputs).filter((name) => name.startsWith('node:'))).toEqual([]);
    expect(Object.values(outputs).flatMap(({ imports }) => imports.filter(({ external }) => external))).toEqual([]);
    for (const file of files) expect(file).not.toMatch(/\bBuffer\.|from"node:|import\("node:/);
  });

  it('loads at most 120 kB of JavaScript to answer with a model of any family, the WebAssembly not counted', async () => {
    const { files, outputs } = await pageWithOpenModel();
    const kernels = embeddedKernels(files);
    expect(kernels.bytes.equals(readFileSync('dist/kernels.wasm'))).toBe(true);
    expect(kernels.bytes.length).toBeLessThanOrEqual(MAX_WASM);
    const [entry = ''] = Object.entries(outputs).flatMap(([name, { entryPoint }]) => (entryPoint ? name : []));
    const decoders = Object.entries(outputs).flatMap(([name, { exports }]) =>
      exports.some((each) => /^(?:papaya|grapefruit|dragonfruit)Decoder$/.test(each)) ? name : [],
    );
    expect(decoders).toHaveLength(3);
    for (const decoder of decoders) {
      const loaded = loadedWith(decoder, outputs, loadedWith(entry, outputs));
      const bytes = [...loaded].reduce((sum, name) => sum + (outputs[name]?.bytes ?? 0), 0);
      expect(bytes - kernels.text).toBeLessThanOrEqual(MAX_LOADED);
    }
  });
});
