import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CHANGES, NO_LINE } from '../../scripts/promises/changes.mjs';

/** SECURITY.md against the tests that it names. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');

/** Rows of its tables: a promise, and the file and title of the test that keeps it. */
const promises = [...page.matchAll(/^\| (.+) \| `(test\/\S+)`: (.+) \|$/gm)].map(
  ([, promise = '', file = '', title = '']) => ({ promise, file, title }),
);

describe('SECURITY.md', () => {
  it('names a test for every promise', () => {
    const rows = page.split('\n').filter((line) => /^\| (?!promise)/.test(line));
    expect(promises).toHaveLength(rows.length);
    expect(promises.length).toBeGreaterThan(30);
  });

  it.each(promises)('$promise: $file has the test', ({ file, title }) => {
    const path = join(root, file);
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8').replaceAll("\\'", "'")).toContain(title);
  });

  it.each(promises)(
    '$promise: `npm run test:promises` breaks it, or says why no single line keeps it',
    ({ promise }) => {
      const tried = [...Object.keys(CHANGES), ...Object.keys(NO_LINE)];
      expect(tried.filter((beginning) => promise.startsWith(beginning))).toHaveLength(1);
    },
  );

  it.each(Object.entries(CHANGES))('%s…: the line that keeps it is there', (_, [file, from]) => {
    expect(readFileSync(join(root, file), 'utf8').split(from)).toHaveLength(2);
  });

  it('links only to pages that there are', () => {
    for (const [, target = ''] of page.matchAll(/\]\(([^)]+)\)/g)) expect(existsSync(join(root, target))).toBe(true);
  });
});
