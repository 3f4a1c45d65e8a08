import { setTimeout } from 'node:timers';
import { DEVICES, LOCAL_ACCOUNT, messageOf, RUNTIMES } from '../../contract/index.js';
import type { RunningServer, StoredKey } from '../../http/index.js';
import { command, type Settings, UsageError } from '../command.js';
import { choice, DEFAULT_DATA, databaseOption, flag, integer, option, schemaOption } from '../parameters.js';

const parameters = {
  host: option('--host <address>', 'address to listen on (default: 127.0.0.1)'),
  port: option('--port <number>', 'port to listen on (default: 8080)', integer(0, 65_535)),
  data: option(
    '--data <folder>',
    'folder for jobs and models; with a database, for its local cache (default: ./orchard-data)',
  ),
  database: {
    ...databaseOption,
    description:
      'PostgreSQL database for jobs and models instead of a folder, postgres://…; or set ORCHARD_DATABASE, which hides the password from other users of the machine',
    variable: 'ORCHARD_DATABASE',
  },
  schema: schemaOption,
  role: choice('--role <role>', 'with a database: answer requests (api), train (trainer), or both (all, the default)', [
    'api',
    'trainer',
    'all',
  ]),
  jobs: option(
    '--jobs <number>',
    'with a database: maximum number of jobs that train in this process at a time (default: 1)',
    integer(1),
  ),
  // One connection listens for notifications; with fewer than 5, work that needs two would wait for itself.
  connections: option(
    '--connections <number>',
    'with a database: maximum number of connections to it from this process (at least 5; default: 11)',
    integer(5),
  ),
  keys: option(
    '--keys <file>',
    'key file written by orchard new-key; or set ORCHARD_KEYS to its content (default: one new key, printed)',
  ),
  operatorKeys: option(
    '--operator-keys <file>',
    'key file for /operator, which erases accounts and removes unused models (default: off)',
  ),
  requestsPerMinute: option(
    '--requests-per-minute <number>',
    'maximum requests per minute for each account (default: no limit)',
    integer(1),
  ),
  quota: option(
    '--quota <calls/period>',
    'maximum inference calls per account, such as 10000/month or 500/day (default: no limit)',
    (typed) => {
      const [, calls, per] = /^([1-9]\d{0,11})\/(day|month)$/.exec(typed) ?? [];
      if (calls === undefined) throw new UsageError('give inference calls and their period: 10000/month, 500/day');
      return { calls: Number(calls), per: per === 'day' ? ('day' as const) : ('month' as const) };
    },
  ),
  wrongKeysPerMinute: option(
    '--wrong-keys-per-minute <number>',
    'wrong API keys per minute after which a client address is blocked (default: 10)',
    integer(1),
  ),
  trustProxy: flag(
    '--trust-proxy',
    'read the client address from x-forwarded-for; use only behind a proxy that sets it',
  ),
  allowPrivateAddresses: flag(
    '--allow-private-addresses',
    'allow dataset_url to point to this machine and its network',
  ),
  isolation: choice(
    '--isolation <kind>',
    'train in a thread (worker), or in a process whose crash does not stop the service (process, the default)',
    ['worker', 'process'],
  ),
  device: {
    ...choice(
      '--device <device>',
      'device to compute on; see orchard devices; or set ORCHARD_DEVICE (default: cpu)',
      DEVICES,
    ),
    variable: 'ORCHARD_DEVICE',
  },
  runtime: {
    ...choice(
      '--runtime <runtime>',
      'what runs models: onnx, wasm, or auto, which uses wasm if onnx is missing; or set ORCHARD_RUNTIME (default: auto)',
      RUNTIMES,
    ),
    variable: 'ORCHARD_RUNTIME',
  },
  workers: option(
    '--workers <number>',
    'number of inference threads (default: 2, or 1 on a device other than cpu and auto)',
    integer(1),
  ),
  maxWaiting: option(
    '--max-waiting <number>',
    'maximum queries waiting for a thread; beyond that, requests get a 503 (default: 2000)',
    integer(1),
  ),
  accountLimits: option(
    '--account-limits <name=number,…>',
    'what one account may have open at a time: requests (default: 250, at most a quarter of --max-connections); streams (50), uploads (5) and downloads (10), each at most an eighth of --max-connections; bodyBytes (64 MiB); waiting (queries, half of --max-waiting)',
    accountLimitsFrom,
  ),
  watchDrift: flag(
    '--watch-drift',
    'compare the queries of custom models with the texts they were trained on, for /metrics; no text is kept',
  ),
  maxConnections: option('--max-connections <number>', 'maximum open connections (default: 1000)', integer(1)),
};

const LIMITS = ['requests', 'streams', 'uploads', 'downloads', 'bodyBytes', 'waiting'] as const;

/** @throws UsageError */
function accountLimitsFrom(typed: string): Partial<Record<(typeof LIMITS)[number], number>> {
  return Object.fromEntries(
    typed.split(',').map((each) => {
      const [, name, figure] = /^(\w+)=([1-9]\d{0,11})$/.exec(each.trim()) ?? [];
      const known = LIMITS.find((limit) => limit === name);
      if (known === undefined)
        throw new UsageError(`give names and numbers, such as streams=20,uploads=2; names are ${LIMITS.join(', ')}`);
      return [known, Number(figure)];
    }),
  );
}

const needDatabase = {
  role: 'roles need a shared database; add --database, or omit --role',
  schema: 'schemas exist only in a database; add --database',
  jobs: 'without a database, one job per account runs at a time; add --database, or omit --jobs',
  connections: 'the limit of connections applies only to a database; add --database',
} as const;

export const serveCommand = command({
  name: 'serve',
  summary: 'serve models over HTTP',
  details:
    'Writes one line of JSON per request to standard output. For more about each option, see docs/http.md in the repository.',
  parameters,
  async run({ settings, terminal, output }) {
    const { readKeyFile, startService } = await import('../../http/index.js');
    const { keys: keyFile, operatorKeys, isolation = 'process', device = 'cpu' } = settings;
    const { host = '127.0.0.1', port = 8080, data = DEFAULT_DATA, wrongKeysPerMinute = 10 } = settings;
    checkDatabase(settings);
    const isTrainer = settings.role === 'trainer'; // needs no keys
    const warn = (message: string) => output.warn(message);
    const service = await startService({
      ...settings,
      ...{ host, port, data, wrongKeysPerMinute, isolation, device },
      keys: isTrainer ? [] : await keysFor(keyFile, terminal.env.ORCHARD_KEYS, warn),
      operatorKeys: isTrainer || operatorKeys === undefined ? [] : await readKeyFile(operatorKeys),
      log: (entry) => void output.line(JSON.stringify(entry)),
      warn,
    });
    const { url } = service;
    if (output.isJson) warn(JSON.stringify({ url }));
    else if (isTrainer) warn(`Orchard trains the jobs of the database; see ${url}/ready for its state`);
    else warn(`Orchard answers at ${url}; open it in a browser to try models, or ${url}/docs for the API reference`);
    closeOnSignal(service, warn);
  },
});

function checkDatabase(settings: Settings<typeof parameters>): void {
  if (settings.database !== undefined) return;
  const problems = (['role', 'schema', 'jobs', 'connections'] as const)
    .filter((name) => settings[name] !== undefined)
    .map((name) => `--${name}: ${needDatabase[name]}`);
  if (problems.length > 0) throw new UsageError(problems.join('; '));
}

/** From a file, otherwise from JSON, otherwise a new key for this run. */
async function keysFor(
  file: string | undefined,
  json: string | undefined,
  warn: (message: string) => void,
): Promise<readonly StoredKey[]> {
  const { newApiKey, parseStoredKeys, readKeyFile } = await import('../../http/index.js');
  if (file !== undefined) return readKeyFile(file);
  if (json !== undefined) return parseStoredKeys(json);
  const { apiKey, stored } = newApiKey(LOCAL_ACCOUNT);
  warn(`No keys were given; x-api-key for this run: ${apiKey}`);
  return [stored];
}

/** Time to stop: the first half is for open requests, the rest for checkpoints of running jobs. */
const STOP_TIMEOUT_MS = 10_000;

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** A second signal, also the other one, ends the process at once. */
function closeOnSignal(service: RunningServer, warn: (message: string) => void): void {
  const stop = (signal: NodeJS.Signals) => {
    for (const each of STOP_SIGNALS) process.off(each, stop);
    warn(`${signal}: finishing open requests, then stopping; jobs continue at the next start`);
    service.close().catch((thrown: unknown) => {
      warn(`not everything could be closed: ${messageOf(thrown)}`);
      process.exitCode = 1;
    });
    // A computing thread can't be ended from outside, and an exit would wait for it. Jobs survive a kill.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
}
