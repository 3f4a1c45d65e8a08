import { LOCAL_ACCOUNT } from '../../contract/index.js';
import {
  newApiKey,
  parseStoredKeys,
  type RunningServer,
  readKeyFile,
  type StoredKey,
  startService,
} from '../../http/index.js';
import type { CommandRun } from '../command-definition.js';
import { serveSettings } from './serve-settings.js';

/** `orchard serve`: serves until SIGTERM or SIGINT, then closes. */
export async function serve({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { keys: keyFile, 'operator-keys': operatorKeyFile, ...settings } = serveSettings(given, terminal.env);
  const isTrainer = settings.role === 'trainer'; // it asks for no key
  const warn = (message: string) => output.warn(message);
  const keys = isTrainer ? [] : await keysFor(keyFile, terminal.env.ORCHARD_KEYS, warn);
  const operatorKeys = isTrainer || operatorKeyFile === undefined ? [] : await readKeyFile(operatorKeyFile);
  const service = await startService({
    ...settings,
    requestsPerMinute: settings['requests-per-minute'],
    wrongKeysPerMinute: settings['wrong-keys-per-minute'],
    trustProxy: settings['trust-proxy'],
    allowPrivateAddresses: settings['allow-private-addresses'],
    maxWaiting: settings['max-waiting'],
    maxConnections: settings['max-connections'],
    keys,
    operatorKeys,
    log: (entry) => void output.json(entry),
    warn,
  });
  if (isJson) warn(JSON.stringify({ url: service.url }));
  else warn(isTrainer ? trainsFor(service) : answersAt(service));
  closeOnSignal(service, warn);
  return 0;
}

function answersAt({ url }: RunningServer): string {
  return `Orchard answers at ${url}; a browser shows a page to try it there, and its reference at ${url}/docs`;
}

function trainsFor({ url }: RunningServer): string {
  return `Orchard trains for all accounts of the database; ${url}/ready tells whether it can`;
}

/** From a file, else from the environment's JSON, else one made for this run alone. */
async function keysFor(
  file: string | undefined,
  json: string | undefined,
  warn: (message: string) => void,
): Promise<readonly StoredKey[]> {
  if (file !== undefined) return readKeyFile(file);
  if (json !== undefined) return parseStoredKeys(json);
  const { apiKey, stored } = newApiKey(LOCAL_ACCOUNT);
  warn(`No keys were given; x-api-key for this run: ${apiKey}`);
  return [stored];
}

/** How long a stop may take: requests under way have the first half of it, running jobs the rest for a checkpoint. */
const STOP_TIMEOUT_MS = 10_000;

/** A second signal ends it at once. */
function closeOnSignal(service: RunningServer, warn: (message: string) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      warn(`${signal}: answering what is under way, then stopping; jobs go on at the next start`);
      void service.close();
      // A thread that computes can't be ended from outside, and an exit would wait for it. Jobs survive a kill.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
    });
  }
}
