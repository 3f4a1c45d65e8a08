import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const codeOf = (name: string) => readFileSync(dist + name, 'utf8');

/** Names of the built files with this in them. */
function filesWith(text: RegExp): string[] {
  const files = readdirSync(dist).filter((name) => /\.c?js$/.test(name));
  return files.filter((name) => text.test(codeOf(name)));
}

/** Names of the built files that are read before the first line of one runs; others are imported where needed. */
function readWith(entry: string): ReadonlySet<string> {
  const names = new Set([entry]);
  for (const name of names) {
    for (const [, imported = ''] of codeOf(name).matchAll(/^(?:im|ex)port\b[^"'()]*["']\.\/([^"']+)["']/gm)) {
      names.add(imported);
    }
  }
  return names;
}

const withoutHash = (name: string) => name.replace(/(chunk-\w+)-.{8}\.js$/, '$1');

const zod = /Invalid input: expected/;
/** The English vocabulary comes with training. */
const training = /##ization/;

it('holds zod without its messages in other languages, which a first answer would wait for', () => {
  expect(filesWith(zod)).not.toEqual([]);
  expect(filesWith(/(from|import|require\() ?["']zod["']/)).toEqual([]);
  // where not: src imports zod otherwise than by import * as z from 'zod'
  expect(filesWith(/Input non valido|Ongeldige invoer/)).toEqual([]);
});

it('is read without what only training needs, and by an inference worker without zod', () => {
  const application = readWith('index.js');
  const worker = readWith('inference-worker.js');
  // Each further file would take as long as 15 kB more code.
  expect([...application].map(withoutHash).sort()).toEqual(['chunk-base', 'chunk-core', 'index.js']);
  expect([...worker].map(withoutHash).sort()).toEqual([
    'chunk-answer',
    'chunk-base',
    'chunk-graph',
    'inference-worker.js',
  ]);
  expect(filesWith(training).filter((name) => application.has(name) || worker.has(name))).toEqual([]);
  expect(filesWith(zod).filter((name) => worker.has(name))).toEqual([]);
  expect(filesWith(zod).some((name) => application.has(name))).toBe(true);
  expect(filesWith(training)).not.toEqual([]);
});
