import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** What a program loads that asks one model: each file that isn't needed delays its first answer. */

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** The files of src/ that a file of dist/ and its imports are made of, as their source maps say. */
function sourcesOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return new Set();
  seen.add(file);
  const imports = readFileSync(join(dist, file), 'utf8').matchAll(/^(?:im|ex)port\b[^'"]*["']\.\/([^"']+)["']/gm);
  return new Set([
    ...ownSources(join(dist, `${file}.map`)),
    ...[...imports].flatMap(([, name = '']) => [...sourcesOf(name, seen)]),
  ]);
}

/** None of a file that only hands on what others export: it has no map. */
function ownSources(map: string): readonly string[] {
  return existsSync(map) ? JSON.parse(readFileSync(map, 'utf8')).sources : [];
}

/** What makes graphs, trains, and writes models and reports. */
const NOT_NEEDED =
  /src\/(?:graph\/(?:graph|gradients)\.ts|graph\/operations|graph\/onnx\/to-onnx|encoder\/architectures|engine|report)/;

describe('what is loaded for a first answer', () => {
  it.each(['index.js', 'inference-worker.js'])('by %s is what asking a model needs', (file) => {
    const sources = [...sourcesOf(file)];
    expect(sources.filter((source) => source.includes('src/inference/'))).not.toEqual([]);
    expect(sources.filter((source) => NOT_NEEDED.test(source))).toEqual([]);
  });
});
