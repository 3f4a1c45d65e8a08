/**
 * What `npm run test:promises` changes, by the beginning of a promise of SECURITY.md: a file, what is in it, and what stands
 * there instead. With {@link BUILT}, dist/ is built with the change: what threads and processes of the library run.
 */
export const BUILT = 'built';

export const CHANGES = {
  'An acknowledged write survives': [
    'src/storage/record-files.ts',
    'await move(draft, path);',
    'setTimeout(() => void move(draft, path), 20);',
  ],
  'Two processes on one storage': [
    'src/storage/record-files.ts',
    'if (present?.version !== expected) throw new VersionConflict(collection, key);',
    '',
  ],
  'If the process of a job dies': ['src/jobs/one-job-per-account.ts', ' || now - seen.since >= LEASE_MS', ''],
  'A resumed training run has the same weights': [
    'src/training/training-loop.ts',
    'learner.state = { ...place, steps, dropout };',
    'learner.state = { ...place, steps: 0, dropout };',
  ],
  'A model is either complete': [
    'src/jobs/job-run.ts',
    "found.status === 'RUNNING' && (await this.#isPublished());",
    'false;',
  ],
  'Deleting a model removes its files': [
    'src/jobs/delete-model.ts',
    'await deleteEnded(context, id, options);',
    "if (status !== 'DELETED') await deleteEnded(context, id, options);",
  ],
  'A database that a later release': ['src/postgres/schema.ts', 'if (version > VERSIONS.length) {', 'if (false) {'],
  '`kill -9` during promotions': [
    'src/storage/record-files.ts',
    'await move(draft, path);',
    "const fs = await import('node:fs/promises');\n          await fs.writeFile(path, await fs.readFile(draft));",
    BUILT,
  ],
  '`kill -9` at any point of a job': [
    'src/jobs/retry.ts',
    'const MAX_HOST_DEATHS = 10;',
    'const MAX_HOST_DEATHS = 3;',
    BUILT,
  ],
  'If a storage is not writable': [
    'src/jobs/embedded-queue.ts',
    "(thrown: unknown) => this.#trouble.failed('queue', thrown),",
    '() => undefined,',
  ],
  'A damaged record is listed': [
    'src/jobs/job-repository.ts',
    'await keepDamaged(this.#storage, key, found, damage);',
    '',
  ],
  'The clocks of machines': [
    'src/jobs/one-job-per-account.ts',
    'return this.#clock.elapsed() - this.#writtenAt < LEASE_MS;',
    'return this.#clock.now() - this.#writtenAt < LEASE_MS;',
  ],
  'Over a database, a trainer that was cut off': [
    'src/postgres/folders.ts',
    'if (stage?.token !== token || own === undefined) throw stagingLost(key, stage?.token);',
    '',
  ],
  'If the machine of a job fails': [
    'src/postgres/folders.ts',
    'if (saved !== undefined) await this.#fetch(saved, directory);',
    '',
    BUILT,
  ],
  'A changed copy of a model': [
    'src/postgres/folder-cache.ts',
    'if ((await this.#touch(hash)) && (await isWhole(directory, hash))) {',
    'if (await this.#touch(hash)) {',
  ],
  'A directory copied into a database': [
    'src/jobs/operator.ts',
    'if (found !== undefined && contentHash(found) === contentHash(files)) return files;',
    'return files;',
  ],
  'A request that is repeated': ['src/jobs/create-job.ts', 'if (earlier !== undefined) {', 'if (false) {'],
  'Over one database, jobs survive': [
    'src/postgres/postgres-queue.ts',
    'WHERE free_from <= now()',
    'WHERE true',
    BUILT,
  ],
  'Concurrent calls have the same effect': ['src/jobs/cancel-job.ts', 'await events.ended(id);', ''],
  'On a full disk, you can still end': ['src/storage/reserve.ts', 'if (!isDiskFull(thrown) ||', 'if (true ||'],
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
  "An account's queries don't keep out": [
    'src/inference/service.ts',
    'while (!this.#hasRoomFor(added)) {',
    'while (false) {',
  ],
  '/health and /ready also answer': ['src/http/serve.ts', 'const RESERVED_PLACES = 16;', 'const RESERVED_PLACES = 0;'],
  'An interrupted download': ['src/http/routes/page.ts', 'for (const file of files) file.destroy();', ''],
  'A request ends if its client stops': [
    'src/http/serve.ts',
    'else if (!current.incoming.complete) {',
    'else if (false) {',
  ],
  'A body is limited': ['src/http/body.ts', 'if (length > maxBytes) throw', 'if (length > 64 * maxBytes) throw'],
  'The length of a query': [
    'src/contract/inference.ts',
    '.max(MAX_QUERY_CHARACTERS, {',
    '.max(10 * MAX_QUERY_CHARACTERS, {',
  ],
  'Unread answers are bounded': ['src/http/serve.ts', 'if (bytes <= this.#limits.maxUntakenBytes) return;', 'return;'],
  'A job that crashes its own process': ['src/jobs/retry.ts', 'const MAX_DEATHS = 3;', 'const MAX_DEATHS = 4;'],
  'A job that ends the process': ['src/jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 11;'],
  "A job doesn't end in ERROR": ['src/jobs/retry.ts', 'const MAX_HOST_DEATHS = 10;', 'const MAX_HOST_DEATHS = 3;'],
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
  'A Hub token is in no error': ['src/models/hub-models.ts', '.regex(/^[\\x21-\\x7E]+$/,', '.regex(/^[^]*$/,', BUILT],
  '/metrics names no model': [
    'src/http/probes.ts',
    "route: context.get('route')?.path ?? 'none'",
    'route: context.req.path',
  ],
  'Query texts and keys are in no log': ['src/http/probes.ts', 'path: context.req.path,', 'path: context.req.url,'],
  'After a clean stop': [
    'src/training/training-runner.ts',
    'if (parentPort === null) for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);',
    '',
    BUILT,
  ],
  'Network failures and database restarts': [
    'src/postgres/connection-errors.ts',
    'throw databaseFailure(doing, thrown);',
    'throw thrown;',
  ],
  'An account sees no job or model': [
    'src/jobs/account-records.ts',
    'return encodeURIComponent(app_id);',
    'return encodeURIComponent(app_id.slice(0, 3));',
  ],
  'An error over HTTP reveals no internals': [
    'src/http/refusal.ts',
    'if (status >= 500) return unexpected(status, thrown);',
    '',
  ],
  'The error of a job about its dataset': [
    'src/datasets/problems.ts',
    'return reason === undefined ? code :',
    'return String(thrown) ||',
  ],
  'A model folder reaches no file': [
    'src/system/files.ts',
    "if (!found.isFile()) throw new Error('it is not a file');",
    '',
  ],
  'Damaged archives are read': [
    'src/datasets/archive-file.ts',
    'if (!isDiskError(thrown)) throw damaged(name, thrown);',
    '',
  ],
  "An account's key doesn't open": [
    'src/http/admission.ts',
    'await (isOperator ? authenticateOperator?.(apiKey) : authenticate(apiKey));',
    'await authenticate(apiKey);',
  ],
  'Texts of a dataset never become markup': [
    'src/report/html.ts',
    "return String(value).replace(/[&<>\"']/g, (character) => entities[character] ?? '');",
    'return String(value);',
  ],
  'Any wrong request gets a documented': [
    'src/http/body.ts',
    "throw notJson('it ends early or has an invalid character');",
    "throw new SyntaxError('not JSON');",
  ],
  'An archive unpacks to at most': [
    'src/datasets/archive-file.ts',
    '{ autoClose: false }',
    '{ autoClose: false, validateEntrySizes: false }',
  ],
  'The queue for models is bounded': ['src/inference/service.ts', 'shareOf(all, this.#maxWaiting) <= 1 && ', ''],
  "Queries to one model don't delay": [
    'src/inference/request-queue.ts',
    'waiting.sort((a, b) => a.account.served - b.account.served || a.queue.served - b.queue.served);',
    '',
  ],
  'After a client disconnects': [
    'src/http/quota.ts',
    'if (!hasAnswers(thrown)) await quota.reward(app_id, calls);',
    '',
  ],
  'A connection that sends a lot': [
    'src/http/serve.ts',
    'if (connection.current === undefined) this.#begin(',
    'if (true) this.#begin(',
  ],
  'A deleted model leaves the memory': [
    'src/jobs/ready-models.ts',
    'if (foundAt <= before) this.#renew(id);',
    'if (false) this.#renew(id);',
  ],
  'A training run that needs too much memory': [
    'src/training/memory-estimate.ts',
    'const needed = RUNTIME_BYTES + weights + step + texts + labels;',
    'const needed = 0;',
    BUILT,
  ],
  'A training run that fills its heap': [
    'src/training/training-host.ts',
    "worker.on('error', (error) => {\n    reason = error.message;\n  });",
    '',
  ],
  'A training run can be cancelled at any point': [
    'src/system/pauses.ts',
    "if (signal?.aborted) throw new AbortedError('the operation');",
    '',
  ],
  "An account's limits hold over all": [
    'src/postgres/shared-limits.ts',
    "keyPrefix: 'requests',",
    'keyPrefix: String(process.pid),',
    BUILT,
  ],
  'Limits also hold if their database': [
    'src/postgres/shared-limits.ts',
    'await this.#database.query(text, values, { timeoutMs: TIMEOUT_MS });',
    'await this.#database\n          .query(text, values, { timeoutMs: TIMEOUT_MS })\n          .catch(() => [{ points: 1, expire: Date.now() + 60_000 }]);',
  ],
  'Closing takes at most': ['src/http/serve.ts', 'connections.endAll();\n    server.closeAllConnections();', ''],
  "The runtime's telemetry is off": ['src/system/threads.ts', "process.env[VARIABLE] = '1';", '', BUILT],
  'Training and answers open no connection': ['src/system/threads.ts', "process.env[VARIABLE] = '1';", '', BUILT],
  'The same holds for the commands': ['src/system/threads.ts', "process.env[VARIABLE] = '1';", '', BUILT],
  'Training and answers write nothing to the home': [
    'src/system/threads.ts',
    "process.env[VARIABLE] = '1';",
    '',
    BUILT,
  ],
  'Keys, query texts, passwords and signed': ['src/contract/errors.ts', 'shownUrl(url)}: ', 'url}: ', BUILT],
  'Erasing an account removes it from every table': [
    'src/postgres/postgres-queue.ts',
    'WHERE app_id = $1 AND NOT EXISTS',
    'WHERE app_id = $1 AND EXISTS',
    BUILT,
  ],
  'Erasing an account removes all': [
    'src/jobs/account-records.ts',
    'OF_AN_ACCOUNT = [JOB_REQUESTS, QUOTA, ...OF_LABELLING, VERSIONS, SHADOW_COUNTS]',
    'OF_AN_ACCOUNT = [JOB_REQUESTS, QUOTA, ...OF_LABELLING, SHADOW_COUNTS]',
  ],
  'Deleted and erased data leaves': [
    'src/postgres/folders.ts',
    'heard: (hash) => forget([hash]),',
    'heard: () => undefined,',
  ],
  'No error contains the password': [
    'src/postgres/database.ts',
    'throw connectFailure(this.place, thrown);',
    'throw connectFailure(String(this.#source), thrown);',
  ],
  'The counts of a [shadow]': [
    'src/inference/shadow.ts',
    'comparison(answer, results[at], model, shadow.model, none)',
    "comparison({ ...answer, labels: [queries[at] ?? ''] }, results[at], model, shadow.model, none)",
  ],
  'Unused models can be listed': ['src/jobs/model-uses.ts', 'const last = await uses.last(job.id);', 'const last = 0;'],
  'Gauges of drift show no id': [
    'src/http/drift-watch.ts',
    "this.model = createHash('sha256').update(id).digest('hex').slice(0, 12);",
    'this.model = id;',
  ],
  'Reports load nothing': [
    'src/report/html.ts',
    '<style>',
    '<link rel="stylesheet" href="https://example.com/report.css"><style>',
  ],
  'Each dependency has a documented reason': [
    'scripts/check-dependencies.mjs',
    'if (!isAllowed(licence))',
    'if (false)',
  ],
  'No package has an unknown install script': [
    'scripts/check-dependencies.mjs',
    'if (hasInstallScript && !KNOWN_INSTALL_SCRIPTS.includes(name))',
    'if (false)',
  ],
  'Known advisories fail': [
    'scripts/check-dependencies.mjs',
    'if (problems.length > 0) process.exitCode = 1;\nelse',
    'if (problems.length === 0)',
  ],
  'Each release includes': [
    'scripts/sbom.mjs',
    "bom.components = bom.components.filter((component) => kept.has(component['bom-ref']));",
    '',
  ],
  'A damaged model folder': [
    'src/models/folder-files.ts',
    'throw new ModelFolderError(file, reason, { cause });',
    'throw cause instanceof SyntaxError ? cause : new ModelFolderError(file, reason, { cause });',
  ],
  'Under attack by one account': ['src/http/account-limits.ts', 'held > 0 && held + amount > most', 'false', BUILT],
  'The page at /docs loads': [
    'src/http/create-handler.ts',
    '<link rel="icon" href="data:,">',
    '<link rel="icon" href="https://example.com/icon.svg">',
  ],
};

/** Promises that no single line keeps, with the reason, by their beginning. */
export const NO_LINE = {
  'An archive writes nothing outside its folder': 'yauzl, which reads the archives, refuses such paths',
  'Untrusted labels, keys and names never':
    'a convention: such names are keys of a Map, or properties that Object.fromEntries makes',
  'Untrusted names in requests never': 'the same convention',
  'Under attack, and over hours of use': 'all limits together; npm run test:soak measures it',
  'Query texts are not stored': 'no code stores them',
};
