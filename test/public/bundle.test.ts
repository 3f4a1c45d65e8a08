import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));

/** Names of the built files with this in them. */
function filesWith(text: RegExp): string[] {
  const files = readdirSync(dist).filter((name) => /\.c?js$/.test(name));
  return files.filter((name) => text.test(readFileSync(dist + name, 'utf8')));
}

it('holds zod without its messages in other languages, which a first answer would wait for', () => {
  expect(filesWith(/Invalid input: expected/)).not.toEqual([]);
  expect(filesWith(/(from|import|require\() ?["']zod["']/)).toEqual([]);
  // where not: src imports zod otherwise than by import * as z from 'zod'
  expect(filesWith(/Input non valido|Ongeldige invoer/)).toEqual([]);
});
