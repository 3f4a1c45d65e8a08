/**
 * Gives each row of docs/decisions.md the day since which it stands there, as its last column, from git's history of the
 * file; rows that have a date keep it, and one that is in no commit gets today's. Run it after adding a decision.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const FILE = 'docs/decisions.md';
const DATE = /\| \d{4}-\d{2}-\d{2} \|$/;
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });

/** The first cell of each row is its question. */
const questionOf = (row) => row.split(' | ')[0];
const rowsOf = (page) => page.split('\n').filter((line) => /^\| (?!question )/.test(line));

/** The day on which a question was first in a commit. */
function firstDays() {
  const days = new Map();
  const commits = git('log', '--reverse', '--format=%H %as', '--', FILE).trimEnd().split('\n');
  for (const [commit, day] of commits.map((line) => line.split(' ')))
    for (const row of rowsOf(git('show', `${commit}:${FILE}`)))
      if (!days.has(questionOf(row))) days.set(questionOf(row), day);
  return days;
}

const days = firstDays();
const today = new Date().toISOString().slice(0, 10);
const dated = readFileSync(join(root, FILE), 'utf8').replaceAll(/^\|.*\|$/gm, (row) => {
  if (DATE.test(row) || row.endsWith('| since |') || row === '|---|---|---|---|') return row;
  if (/^\| question /.test(row)) return `${row} since |`;
  if (/^\|[-|]+\|$/.test(row)) return `${row}---|`;
  return `${row} ${days.get(questionOf(row)) ?? today} |`;
});
writeFileSync(join(root, FILE), dated);
