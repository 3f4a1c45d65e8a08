import { LOCAL_ACCOUNT } from '../contract/index.js';
import { toOrchardError } from '../errors.js';
import type { DeviceInformation } from '../graph/index.js';
import { listDevices } from '../inference/index.js';
import { newApiKey, parseStoredKeys, type StoredKey } from './api-keys.js';
import { newKeySettings, noSettings, serveSettings, USAGE } from './command-options.js';
import { COPY_USAGE, copyCommand } from './copy-command.js';
import { addToKeyFile, readKeyFile } from './key-file.js';
import { eraseCommand, OPERATOR_USAGE, unusedCommand } from './operator-commands.js';
import type { RunningServer } from './serve.js';
import { startService } from './start-service.js';

/** The command `orchard`. What it can't do it says on standard error, with the exit code 1; 2 where no command is named. */
export async function orchard([command = '', ...args]: readonly string[]): Promise<void> {
  const run = commands.get(command);
  if (run === undefined) {
    console.error(USAGE + OPERATOR_USAGE + COPY_USAGE);
    process.exitCode = 2;
    return;
  }
  try {
    await run(args);
  } catch (thrown) {
    console.error(toOrchardError(thrown, `orchard ${command}`).message);
    process.exitCode = 1;
  }
}

const commands = new Map([
  ['serve', serveCommand],
  ['new-key', newKeyCommand],
  ['devices', devicesCommand],
  ['erase', eraseCommand],
  ['unused', unusedCommand],
  ['copy', copyCommand],
]);

/** Serves until SIGTERM or SIGINT, then closes; a second signal ends it at once. */
async function serveCommand(args: string[]): Promise<void> {
  const settings = serveSettings(args, process.env);
  const isTrainer = settings.role === 'trainer'; // it asks for no key
  const keys = isTrainer ? [] : await keysFor(settings.keys, process.env.ORCHARD_KEYS);
  const log = (entry: object) => console.log(JSON.stringify(entry));
  const operatorKeys = isTrainer ? [] : await operatorKeysFor(settings['operator-keys']);
  const service = await startService({ ...settings, keys, operatorKeys, log, warn: console.error });
  console.error(isTrainer ? trainsFor(service) : answersAt(service));
  closeOnSignal(service);
}

function answersAt({ url }: RunningServer): string {
  return `Orchard answers at ${url}; a browser shows a page to try it there, and its reference at ${url}/docs`;
}

function trainsFor({ url }: RunningServer): string {
  return `Orchard trains for all accounts of the database; ${url}/ready tells whether it can`;
}

/** Prints a new key, the only time that it is seen, and keeps its hash. */
async function newKeyCommand(args: string[]): Promise<void> {
  const { 'app-id': app_id, tier, keys } = newKeySettings(args);
  const { apiKey, stored } = newApiKey({ app_id, tier });
  await addToKeyFile(keys, stored);
  console.log(apiKey);
}

/** Tries each device that the runtime knows, and prints a line of each. */
async function devicesCommand(args: string[]): Promise<void> {
  noSettings(args);
  for (const found of await listDevices()) console.log(deviceLine(found));
}

function deviceLine({ device, isAvailable, productMs = 0, reason = '' }: DeviceInformation): string {
  const told = isAvailable
    ? `a product of two 512×512 matrices takes ${productMs.toFixed(1)} ms`
    : `not available: ${reason.split('\n')[0]}`;
  return `${device.padEnd(8)}${told}`;
}

/** From a file, else from the environment's JSON, else one made for this run alone. */
async function keysFor(file: string | undefined, json: string | undefined): Promise<readonly StoredKey[]> {
  if (file !== undefined) return readKeyFile(file);
  if (json !== undefined) return parseStoredKeys(json);
  const { apiKey, stored } = newApiKey(LOCAL_ACCOUNT);
  console.error(`No keys were given; x-api-key for this run: ${apiKey}`);
  return [stored];
}

async function operatorKeysFor(file: string | undefined): Promise<readonly StoredKey[]> {
  return file === undefined ? [] : readKeyFile(file);
}

/** How long a stop may take: requests under way have the first half of it, running jobs the rest for a checkpoint. */
const STOP_TIMEOUT_MS = 10_000;

function closeOnSignal(service: RunningServer): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      console.error(`${signal}: answering what is under way, then stopping; jobs go on at the next start`);
      void service.close();
      // A thread that computes can't be ended from outside, and an exit would wait for it. Jobs survive a kill.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_TIMEOUT_MS).unref();
    });
  }
}
