/**
 * Reads CHANGELOG.md: one section for each version, the newest first. The first may be "not yet released".
 *
 * Run by itself, it checks that the sections are in order and belong to package.json's version.
 * @param argv with `--since REF`, also that what changed the public API since that commit has changed CHANGELOG.md too.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HEADING = /^## (\d+\.\d+\.\d+), (?:(\d{4}-\d{2}-\d{2})|not yet released)$/;

/** @returns the sections in their order; `date` is absent where a version isn't released, `notes` is Markdown. */
export function sectionsOf(changelog) {
  return changelog
    .split(/^(?=## )/m)
    .slice(1)
    .map((text) => {
      const [heading = '', ...lines] = text.split('\n');
      const [, version, date] = HEADING.exec(heading) ?? [];
      return { heading, version, date, notes: lines.join('\n').trim() };
    });
}

/** What is wrong with a changelog of a package with this version, in words; nothing if it is sound. */
export function changelogProblems(changelog, packageVersion) {
  const sections = sectionsOf(changelog);
  const [newest] = sections;
  if (newest === undefined) return ['it has no version'];
  const problems = sections.flatMap(({ heading, version, date, notes }, at) => {
    if (version === undefined) return [`"${heading}": expected "## 1.2.3, 2026-01-31" or "…, not yet released"`];
    const older = sections[at + 1]?.version;
    return [
      ...(notes.includes('- ') ? [] : [`${version} says nothing`]),
      ...(date !== undefined || at === 0 ? [] : [`${version} stands below ${newest.version}, so it needs a date`]),
      ...(older === undefined || isNewer(version, older) ? [] : [`${version} stands above ${older}`]),
    ];
  });
  if (newest.version !== undefined && newest.version !== packageVersion)
    problems.push(`it begins with ${newest.version}, but package.json has ${packageVersion}`);
  return problems;
}

/** Whether a version of three numbers is above another one. */
function isNewer(version, other) {
  const [ours, theirs] = [version, other].map((each) => each.split('.').map(Number));
  const at = ours.findIndex((number, place) => number !== theirs[place]);
  return at !== -1 && ours[at] > theirs[at];
}

/** What changed for users without a word about it. @throws Error where git does not know the commit */
function silentChanges(root, since) {
  const options = { cwd: root, encoding: 'utf8' };
  const changed = execFileSync('git', ['diff', '--name-only', `${since}...HEAD`], options).split('\n');
  const api = changed.filter((path) => path.startsWith('api/'));
  if (api.length === 0 || changed.includes('CHANGELOG.md')) return [];
  return [`${api.join(', ')} changed since ${since}, and CHANGELOG.md did not`];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const read = (name) => readFileSync(join(root, name), 'utf8');
  const at = process.argv.indexOf('--since');
  const problems = [
    ...changelogProblems(read('CHANGELOG.md'), JSON.parse(read('package.json')).version),
    ...(at === -1 ? [] : silentChanges(root, process.argv[at + 1])),
  ];
  for (const problem of problems) console.error(`CHANGELOG.md: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
