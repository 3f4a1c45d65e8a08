import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** What a program loads that asks one model: each file that isn't needed delays its first answer. */

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** Writes down what Node imports, in a hook of its loader. */
const HOOKS = `
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    writeSync(1, 'imports ' + url + '\\n');
    return next(url, context);
  }`;
const PROGRAM = `
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)}));
  const { loadModel } = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
  const model = (await loadModel('sentiment-classification', { isolation: 'inline' }))._unsafeUnwrap();
  console.log((await model.predict('What a lovely day'))._unsafeUnwrap().label);
  process.exit();`;

const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], { encoding: 'utf8' });
const imports = [...printed.matchAll(/^imports (.*)$/gm)].map(([, url = '']) => url);
const files = imports.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
const own = files.filter((file) => file.startsWith(dist));

/** The files of src/ that a file of dist/ is made of, as its source map says. */
function sourcesOf(file: string): readonly string[] {
  return JSON.parse(readFileSync(`${file}.map`, 'utf8')).sources;
}

/** What makes graphs, trains, and writes models and reports. */
const NOT_NEEDED =
  /src\/(?:graph\/(?:graph|gradients)\.ts|graph\/operations|graph\/onnx\/to-onnx|encoder\/architectures|engine\/(?!kernels)|report)/;

describe('a first answer', () => {
  it('is given', () => {
    expect(printed).toMatch(/^positive$/m);
  });

  it('imports five files, and of packages only neverthrow', () => {
    const names = own.map((file) => file.replace(join(dist, '/'), '').replace(/-[\w-]{8}\.js$/, '.js'));
    expect(names.sort()).toEqual(['chunk-answer.js', 'chunk-base.js', 'chunk-core.js', 'chunk-graph.js', 'index.js']);
    expect(files.filter((file) => !own.includes(file))).toEqual([expect.stringContaining('neverthrow')]);
  });

  it('imports none of what trains models and makes graphs', () => {
    const sources = own.filter((file) => !file.endsWith('index.js')).flatMap(sourcesOf);
    expect(sources.filter((source) => source.includes('src/inference/'))).not.toEqual([]);
    expect(sources.filter((source) => NOT_NEEDED.test(source))).toEqual([]);
  });

  it('loads no module of Node that takes long', () => {
    expect(imports).toContain('node:path');
    expect(imports.filter((url) => /^node:(?:crypto|child_process|http|zlib)$/.test(url))).toEqual([]);
  });
});
