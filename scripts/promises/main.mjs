/**
 * `npm run test:promises [-- '<words of a promise>' …]`: for promises of SECURITY.md, changes the line that keeps it, in a copy of
 * the repository, and runs the test named there, which must fail. `changes.mjs` has the changes.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUILT, CHANGES, NO_LINE } from './changes.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** What a change, a build or a test writes to; the rest of the copy is links. */
const COPIED = ['src', 'test', 'scripts', 'dist', 'package.json', 'vitest.config.ts', 'tsconfig.json'];
/** A change can make a test wait for ever. */
const TEST_TIMEOUT_MS = 60_000;
const RUN_TIMEOUT_MS = 600_000;
/** How a test fails if the changed code doesn't even run, as after a mistake in the change. */
const BROKEN = /^(?:Syntax|Reference|Type)Error.*\n +at .*\/src\//;
/** What Vitest reports for a test that took too long. */
const TIMED_OUT = 'Error: STACK_TRACE_ERROR';
const NEVER_ENDS = 'the test did not end';

const rows = readFileSync(join(root, 'SECURITY.md'), 'utf8').matchAll(/^\| (.+?) \| `(test\/[^`]+)`: (.+?) \|$/gm);
const promises = [...rows].map(([, promise, test, title]) => ({
  promise,
  test,
  pattern: patternOf(title),
  change: entryOf(CHANGES, promise),
  noLine: entryOf(NO_LINE, promise),
}));

function entryOf(table, promise) {
  return Object.entries(table).find(([beginning]) => promise.startsWith(beginning))?.[1];
}

/** The title of a test as a pattern: `%s` and `${…}` match anything. */
function patternOf(title) {
  const parts = title.split(/%\w|\$\{\w+\}/);
  return parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/['’]/g, '.')).join('.*');
}

function copyRepository() {
  const copy = mkdtempSync(join(tmpdir(), 'orchard-promises-'));
  for (const name of readdirSync(root)) {
    if (COPIED.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
    else if (name !== '.git') symlinkSync(join(root, name), join(copy, name));
  }
  return copy;
}

/**
 * Runs the tests of some promises.
 * @returns the results of these tests, and what is wrong with the files that could not be run
 */
function runTests(copy, asked, timeoutMs) {
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const args = ['run', ...new Set(asked.map(({ test }) => test))];
  args.push('-t', asked.map(({ pattern }) => `(${pattern})`).join('|'), '--reporter', 'json', '--outputFile', report);
  args.push('--testTimeout', `${TEST_TIMEOUT_MS}`);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  spawnSync(process.execPath, [vitest, ...args], { cwd: copy, timeout: timeoutMs, stdio: 'ignore' });
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    return {
      tests: testResults.flatMap(({ name, assertionResults }) =>
        assertionResults.map((each) => ({ ...each, file: name })),
      ),
      problems: testResults.map(({ message }) => message).filter(Boolean),
    };
  } catch {
    return { tests: [], problems: [NEVER_ENDS] };
  }
}

/** The results of a promise's tests among those of a run. */
function testsOf({ tests }, { test, pattern }) {
  const title = new RegExp(pattern);
  return tests.filter(({ file, fullName, status }) => {
    return file.endsWith(test) && title.test(fullName) && (status === 'passed' || status === 'failed');
  });
}

/** @returns whether the test fails for the change, and how, or what is wrong */
function tryChange(copy, promise) {
  const [name, from, to, built] = promise.change;
  const file = join(copy, name);
  const source = readFileSync(file, 'utf8');
  if (source.split(from).length !== 2) return { outcome: 'stale', detail: `${name} does not have this once: ${from}` };
  writeFileSync(
    file,
    source.replace(from, () => to),
  );
  try {
    if (built === BUILT) {
      const { status, stderr } = spawnSync(process.execPath, ['scripts/bundle.mjs'], { cwd: copy, encoding: 'utf8' });
      if (status !== 0) return { outcome: 'broken', detail: stderr };
    }
    const run = runTests(copy, [promise], RUN_TIMEOUT_MS);
    const failures = testsOf(run, promise).flatMap(({ failureMessages }) => failureMessages);
    const [failure] = failures.filter((message) => !BROKEN.test(message));
    if (failure !== undefined) return { outcome: 'red', detail: failure };
    const [detail] = [...failures, ...run.problems];
    if (detail === undefined) return { outcome: 'green', detail: 'the test still passes' };
    return { outcome: detail === NEVER_ENDS ? 'red' : 'broken', detail };
  } finally {
    writeFileSync(file, source);
    if (built === BUILT) {
      rmSync(join(copy, 'dist'), { recursive: true });
      cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
    }
  }
}

function print(outcome, promise, detail) {
  console.log(`${outcome.padEnd(7)} ${promise}`);
  const [line = ''] = (detail ?? '').replace(TIMED_OUT, 'the test timed out').split('\n');
  if (line !== '') console.log(`        ${line.slice(0, 200)}`);
}

/** @returns what keeps a change from being tried; undefined if nothing does */
function problemBefore(run, promise) {
  const tests = testsOf(run, promise);
  if (tests.length === 0) return run.problems[0] ?? 'no test of that name ran';
  return tests.find(({ status }) => status === 'failed')?.failureMessages[0];
}

const words = process.argv.slice(2);
const asked = promises.filter(({ promise }) => words.length === 0 || words.some((some) => promise.includes(some)));
const changed = asked.filter(({ change }) => change !== undefined);
const counts = new Map();
const copy = copyRepository();
try {
  const unchanged = changed.length === 0 ? { tests: [], problems: [] } : runTests(copy, changed);
  for (const each of changed) {
    const problem = problemBefore(unchanged, each);
    const { outcome, detail } =
      problem === undefined ? tryChange(copy, each) : { outcome: 'failing', detail: `without the change: ${problem}` };
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    print(outcome, each.promise, detail);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
for (const { promise, change, noLine } of asked) {
  if (change === undefined) print('no line', promise, noLine);
}
console.log([...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', '));
process.exitCode = [...counts.keys()].every((outcome) => outcome === 'red') ? 0 : 1;
