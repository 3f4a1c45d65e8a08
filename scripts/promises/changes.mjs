/**
 * What `npm run test:promises` changes, by the beginning of a promise of SECURITY.md: a file, what is in it, and what stands
 * there instead. With {@link BUILT}, dist/ is built with the change: what threads and processes of the library run.
 */
export const BUILT = 'built';

export const CHANGES = {
  'On a full disk, jobs can end': ['src/storage/reserve.ts', 'if (!isDiskFull(thrown) ||', 'if (true ||'],
  'A run that was suspended': ['src/jobs/job-run.ts', 'if (claim === this.#token) return;', 'return;'],
  'Each operation needs a key': ['src/http/admission.ts', 'if (account === undefined) {', 'if (apiKey === "never") {'],
  'Keys are 256 random bits': ['src/http/api-keys.ts', 'randomBytes(32)', 'randomBytes(16)'],
  "Keys can't be guessed": ['src/http/admission.ts', 'left.remainingPoints <= 0', 'left.remainingPoints < -1e9'],
  'A service reaches no private address': [
    'src/system/public-fetch.ts',
    "if (parsed.range() !== 'unicast') return false;",
    '',
  ],
  'Credentials go only to their host': ['src/system/network.ts', 'target.origin !== url.origin', 'false'],
  'An archive writes nothing elsewhere': [
    'src/datasets/archive-file.ts',
    '0o100000, 0o040000];',
    '0o100000, 0o040000, 0o120000];',
  ],
  'The page at / runs no script': [
    'src/http/create-handler.ts',
    'contentSecurityPolicy: { ...strictPolicy, ...policy },',
    '',
  ],
  'What an account holds open': ['src/http/account-limits.ts', 'held > 0 && held + amount > most', 'false'],
  "An account's queries keep out": [
    'src/inference/service.ts',
    'while (!this.#hasRoomFor(added)) {',
    'while (false) {',
  ],
  '/health and /ready answer': ['src/http/serve.ts', 'const RESERVED_PLACES = 16;', 'const RESERVED_PLACES = 0;'],
  'A broken-off download': ['src/http/routes/page.ts', 'for (const file of files) file.destroy();', ''],
  'A body whose client stops': ['src/http/serve.ts', 'else if (!current.incoming.complete) {', 'else if (false) {'],
  'A body is limited': ['src/http/body.ts', 'if (length > maxBytes) throw', 'if (length > 64 * maxBytes) throw'],
  'The length of a query': [
    'src/contract/inference.ts',
    '.max(MAX_QUERY_CHARACTERS, {',
    '.max(10 * MAX_QUERY_CHARACTERS, {',
  ],
  'Unread answers are bounded': ['src/http/serve.ts', 'if (bytes <= this.#limits.maxUntakenBytes) return;', 'return;'],
  'A job that crashes its own process': ['src/jobs/retry.ts', 'const MAX_DEATHS = 3;', 'const MAX_DEATHS = 4;'],
  'A job that ends the process': ['src/jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 11;'],
  'A job that was killed': ['src/jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 3;'],
  'A training process that hangs': [
    'src/training/training-host.ts',
    "kill: () => void child.kill('SIGKILL'),",
    'kill: () => undefined,',
  ],
  'The number of waiting jobs': [
    'src/jobs/create-job.ts',
    'if (waiting >= maxWaitingJobs)',
    'if (waiting > maxWaitingJobs)',
  ],
  'A Hub token is in no error': ['src/models/hub-models.ts', '.regex(/^[\\x21-\\x7E]+$/,', '.regex(/^[^]*$/,'],
  '/metrics names no model': [
    'src/http/probes.ts',
    "route: context.get('route')?.path ?? 'none'",
    'route: context.req.path',
  ],
  'Query texts and keys are in no log': ['src/http/probes.ts', 'path: context.req.path,', 'path: context.req.url,'],
};

/** Promises that no single line keeps, with the reason, by their beginning. */
export const NO_LINE = {};
