import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BENCHES } from '../scripts/bench.mjs';

/**
 * Every figure that was measured says how: its section names the command, the date and the version of Node, or has a link
 * "measured" or "figures" to a page where a section does. A figure is a decimal with a unit, a decimal after the name of a
 * metric, or a row of a table with two decimals.
 */

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((file) =>
  file.endsWith('.md'),
);

/** Sections whose decimals are limits, versions or defaults. */
const NOT_MEASURED = new Set([
  'docs/service-errors.md ## Limits',
  'docs/page.md ## Routes',
  'docs/dependencies.md ## Why these, and not others',
  'docs/training.md ## Tuning',
]);

/** The first of the repository's history. */
const RELEASE_BEGAN = '2026-11-20';

const DECIMAL = String.raw`(?<![\w.])\d+\.\d+`;
const WITH_UNIT = new RegExp(
  String.raw`${DECIMAL} ?(?:%|×|(?:ms|µs|s|seconds|minutes|hours|kB|[MG]i?B|times|points)(?!\w))`,
);
const OF_METRIC = new RegExp(String.raw`(?:accuracy|F1|nDCG@10|MRR)[^|.\n]{0,30}?${DECIMAL}`);

function hasFigures(section: string): boolean {
  const plain = section.replace(/\]\([^)]*\)/g, ']').replace(/`[^`]*`/g, '');
  const isRow = (line: string) => line.startsWith('|') && (line.match(/(?<![\w.])\d+\.\d+(?!\.)/g) ?? []).length > 1;
  return WITH_UNIT.test(plain) || OF_METRIC.test(plain) || plain.split('\n').some(isRow);
}

const saysHow = (section: string) =>
  /`(?:npm|npx|node) [^`]+`/.test(section) && /\b20\d\d-\d\d-\d\d\b/.test(section) && /Node v?\d\d/.test(section);

function sectionsOf(page: string): readonly string[] {
  return read(page)
    .replace(/```[\s\S]*?```|<picture>[\s\S]*?<\/picture>/g, '')
    .split(/(?=^#{1,4} )/m);
}

/** Whether a link of the section leads to a page that says how. */
function linksToSource(section: string, page: string): boolean {
  const links = section.matchAll(/\[(?:measured|figures|測定の方法)[^\]]*\]\(([^)#]*)[^)]*\)/g);
  return [...links].some(([, target = '']) => {
    const file = target === '' ? page : posix.join(posix.dirname(page), target);
    return sectionsOf(file).some(saysHow);
  });
}

describe('figures in the documentation', () => {
  it.each(pages)('%s says how they were measured', (page) => {
    const unsaid = sectionsOf(page).filter(
      (section) =>
        hasFigures(section) &&
        !NOT_MEASURED.has(`${page} ${section.split('\n')[0]}`) &&
        !saysHow(section) &&
        !linksToSource(section, page),
    );
    expect(unsaid.map((section) => section.split('\n')[0])).toEqual([]);
  });

  it('are not older than this release, nor from the future', () => {
    const today = new Date().toISOString().slice(0, 10);
    const dates = pages.flatMap((page) => read(page).match(/\b20\d\d-\d\d-\d\d\b/g) ?? []);
    expect(dates.filter((date) => date < RELEASE_BEGAN || date > today)).toEqual([]);
  });

  it('come from commands that exist', () => {
    const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read('package.json'));
    const commands = pages.flatMap((page) => [...read(page).matchAll(/npm run ([\w:-]+)(?: -- ([\w-]+))?/g)]);
    const isThere = ([, script = '', bench = '']: RegExpMatchArray) =>
      Object.hasOwn(scripts, script) && (script !== 'bench' || bench === '' || Object.hasOwn(BENCHES, bench));
    const missing = commands.filter((command) => !isThere(command));
    expect(missing.map(([command]) => command)).toEqual([]);
  });
});
