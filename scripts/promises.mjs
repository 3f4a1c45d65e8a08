/**
 * `npm run test:promises [-- <words of a promise>]`: for promises of SECURITY.md, changes the line of src/ that keeps it, and
 * runs the test named there, which must fail. Works in a copy of src/ and test/. Also prints the promises that have no such
 * change here yet. Threads and processes of the library run dist/, so a change of what only they do would go unnoticed.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** By the beginning of a promise: a file below src/, what is in it, and what stands there instead. */
const CHANGES = {
  'On a full disk, you can still end': ['storage/reserve.ts', 'if (!isDiskFull(thrown) ||', 'if (true ||'],
  'A run that was suspended': ['jobs/job-run.ts', 'if (claim === this.#token) return;', 'return;'],
  'Each operation needs a key': ['http/admission.ts', 'if (account === undefined) {', 'if (apiKey === "never") {'],
  'Keys are 256 random bits': ['http/api-keys.ts', 'randomBytes(32)', 'randomBytes(16)'],
  "Keys can't be guessed": ['http/admission.ts', 'left.remainingPoints <= 0', 'left.remainingPoints < -1e9'],
  'A service reaches no private address': [
    'system/public-fetch.ts',
    "if (parsed.range() !== 'unicast') return false;",
    '',
  ],
  'Credentials go only to their host': ['system/network.ts', 'target.origin !== url.origin', 'false'],
  'An archive writes nothing elsewhere': [
    'datasets/archive-file.ts',
    '0o100000, 0o040000];',
    '0o100000, 0o040000, 0o120000];',
  ],
  'The page at / runs no script': [
    'http/create-handler.ts',
    'contentSecurityPolicy: { ...strictPolicy, ...policy },',
    '',
  ],
  'What an account holds open': ['http/account-limits.ts', 'held > 0 && held + amount > most', 'false'],
  "An account's queries don't keep out": [
    'inference/service.ts',
    'while (!this.#hasRoomFor(added)) {',
    'while (false) {',
  ],
  '/health and /ready also answer': ['http/serve.ts', 'const RESERVED_PLACES = 16;', 'const RESERVED_PLACES = 0;'],
  'An interrupted download': ['http/routes/page.ts', 'for (const file of files) file.destroy();', ''],
  'A request ends if its client stops': [
    'http/serve.ts',
    'else if (!current.incoming.complete) {',
    'else if (false) {',
  ],
  'A body is limited': ['http/body.ts', 'if (length > maxBytes) throw', 'if (length > 64 * maxBytes) throw'],
  'The length of a query': [
    'contract/inference.ts',
    '.max(MAX_QUERY_CHARACTERS, {',
    '.max(10 * MAX_QUERY_CHARACTERS, {',
  ],
  'Unread answers are bounded': ['http/serve.ts', 'if (bytes <= this.#limits.maxUntakenBytes) return;', 'return;'],
  'A job that crashes its own process': ['jobs/retry.ts', 'const MAX_DEATHS = 3;', 'const MAX_DEATHS = 4;'],
  'A job that ends the process': ['jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 11;'],
  "A job doesn't end in ERROR": ['jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 3;'],
  'A training process that hangs': [
    'training/training-host.ts',
    "kill: () => void child.kill('SIGKILL'),",
    'kill: () => undefined,',
  ],
  'The number of waiting jobs': [
    'jobs/create-job.ts',
    'if (waiting >= maxWaitingJobs)',
    'if (waiting > maxWaitingJobs)',
  ],
  'A Hub token is in no error': ['models/hub-models.ts', '.regex(/^[\\x21-\\x7E]+$/,', '.regex(/^[^]*$/,'],
  '/metrics names no model': [
    'http/probes.ts',
    "route: context.get('route')?.path ?? 'none'",
    'route: context.req.path',
  ],
  'Query texts and keys are in no log': ['http/probes.ts', 'path: context.req.path,', 'path: context.req.url,'],
};

const COPIED = ['src', 'test', 'package.json', 'vitest.config.ts', 'tsconfig.json'];

const rows = readFileSync(join(root, 'SECURITY.md'), 'utf8').matchAll(/^\| (.+?) \| `(test\/[^`]+)`: (.+?) \|$/gm);
const promises = [...rows].map(([, promise, test, title]) => ({ promise, test, title }));
const [asked = ''] = process.argv.slice(2);

/** The change of a promise; undefined if it has none. */
function changeOf(promise) {
  return Object.entries(CHANGES).find(([beginning]) => promise.startsWith(beginning))?.[1];
}

/** A folder with copies of src/ and test/, and links to everything else. */
function copied() {
  const copy = mkdtempSync(join(tmpdir(), 'orchard-promises-'));
  for (const name of readdirSync(root)) {
    if (COPIED.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
    else if (name !== '.git') symlinkSync(join(root, name), join(copy, name));
  }
  return copy;
}

/** The name of a test as a pattern: `%s` and `${…}` stand for anything. */
function patternOf(title) {
  return title
    .split(/%\w|\$\{\w+\}/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/['’]/g, '.'))
    .join('.*');
}

/** @returns how many of the tests of that name passed and failed. */
function counts(copy, { test, title }) {
  const args = ['vitest', 'run', test, '-t', patternOf(title), '--reporter', 'json'];
  const { stdout } = spawnSync('npx', args, { cwd: copy, encoding: 'utf8', timeout: 300_000 });
  const { numPassedTests, numFailedTests } = JSON.parse(stdout.slice(stdout.indexOf('{"num')));
  return { passed: numPassedTests, failed: numFailedTests };
}

/** @returns `red` as it must be, else what is wrong. */
function tried(copy, promise, [name, from, to]) {
  const file = join(copy, 'src', name);
  const source = readFileSync(file, 'utf8');
  if (!source.includes(from)) return `src/${name} has no longer ${from}`;
  const before = counts(copy, promise);
  if (before.failed > 0 || before.passed === 0) return 'the test fails without the change, or there is none';
  writeFileSync(
    file,
    source.replace(from, () => to),
  );
  const after = counts(copy, promise);
  writeFileSync(file, source);
  return after.failed > 0 ? 'red' : 'the test still passes';
}

const copy = copied();
let failed = 0;
try {
  for (const each of promises.filter(({ promise }) => promise.includes(asked))) {
    const change = changeOf(each.promise);
    const outcome = change === undefined ? 'no change yet' : tried(copy, each, change);
    if (change !== undefined && outcome !== 'red') failed += 1;
    console.log(`${outcome.padEnd(14)} ${each.promise}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
