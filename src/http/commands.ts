import { okAsync, ResultAsync } from 'neverthrow';
import { LOCAL_ACCOUNT } from '../contract/index.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import { newApiKey, parseStoredKeys, type StoredKey } from './api-keys.js';
import { newKeySettings, serveSettings } from './command-options.js';
import { addToKeyFile, readKeyFile } from './key-file.js';
import type { RunningServer } from './serve.js';
import { startService } from './start-service.js';

/** `orchard serve`: serves until SIGTERM or SIGINT, then closes; a second signal ends it at once. */
export async function serveCommand(args: string[]): Promise<void> {
  const settings = serveSettings(args);
  if (settings.isErr()) return fail(settings.error);
  const keys = await keysFor(settings.value.keys, process.env.ORCHARD_KEYS);
  if (keys.isErr()) return fail(keys.error);
  const log = (entry: object) => console.log(JSON.stringify(entry));
  const started = await ResultAsync.fromPromise(
    startService({ ...settings.value, keys: keys.value, log }),
    (thrown) => toOrchardError(thrown, 'starting the server'),
  );
  if (started.isErr()) return fail(started.error);
  const { url } = started.value;
  console.error(
    `Orchard answers at ${url}; a browser shows a page to try it there, and its reference at ${url}/docs`,
  );
  closeOnSignal(started.value);
}

/** `orchard new-key`: prints a new key, the only time that it is seen, and keeps its hash. */
export async function newKeyCommand(args: string[]): Promise<void> {
  const settings = newKeySettings(args);
  if (settings.isErr()) return fail(settings.error);
  const { 'app-id': app_id, tier, keys: file } = settings.value;
  const { apiKey, stored } = newApiKey({ app_id, tier });
  const added = await addToKeyFile(file, stored);
  if (added.isErr()) return fail(added.error);
  console.log(apiKey);
}

/** From a file, else from the environment's JSON, else one made for this run alone. */
function keysFor(
  file: string | undefined,
  json: string | undefined,
): ResultAsync<readonly StoredKey[], OrchardError> {
  if (file !== undefined) return readKeyFile(file);
  if (json !== undefined) return okAsync(json).andThen(parseStoredKeys);
  const { apiKey, stored } = newApiKey(LOCAL_ACCOUNT);
  console.error(`No keys were given; x-api-key for this run: ${apiKey}`);
  return okAsync([stored]);
}

function closeOnSignal(service: RunningServer): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      console.error(`${signal}: answering what is under way, then stopping; jobs go on at the next start`);
      void service.close();
    });
  }
}

function fail({ message }: OrchardError): void {
  console.error(message);
  process.exitCode = 1;
}
