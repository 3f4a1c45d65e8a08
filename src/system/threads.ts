import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { getEnvironmentData, isMainThread, setEnvironmentData, Worker, type WorkerOptions } from 'node:worker_threads';
import { DeviceError } from '../contract/index.js';

/**
 * One thread of the process at a time uses a device. ONNX Runtime's WebGPU provider keeps one queue of commands and one
 * cache of programs for all sessions of a process, and locks neither.
 */

/** Where threads find the counters; a thread has those that were there when it was started. */
const TURNS = 'orchard-nlp: turns on the device';
/** Turns are numbered: the number that is handed out next, and the one whose turn it is. */
const [NEXT, SERVED] = [0, 1];
const LOOK_MS = 1;
/** A turn that takes longer is that of a thread that has died within it. */
const STUCK_MS = 120_000;
const PASS_ON_MS = 100;

/** Call this before starting a thread that may use a device. Does nothing outside the main thread. */
export function shareDeviceLock(): void {
  if (isMainThread) turns();
}

function turns(): Int32Array {
  const known = getEnvironmentData(TURNS);
  if (known instanceof SharedArrayBuffer) return new Int32Array(known);
  const made = new SharedArrayBuffer(8);
  setEnvironmentData(TURNS, made);
  return new Int32Array(made);
}

/** Waits until no other thread uses a device. @returns what ends the turn. @throws DeviceError where one never ends */
export async function lockDevice(device: string): Promise<() => void> {
  const counters = turns();
  const own = Atomics.add(counters, NEXT, 1);
  const done = () => void Atomics.add(counters, SERVED, 1);
  let served = Atomics.load(counters, SERVED);
  let since = performance.now();
  while (served !== own) {
    await sleep(LOOK_MS);
    const now = Atomics.load(counters, SERVED);
    if (now !== served) [served, since] = [now, performance.now()];
    if (performance.now() - since < STUCK_MS) continue;
    void passOn(counters, own); // a turn that was only slow still ends
    throw new DeviceError(device, 'run', 'another thread of this process holds it and does not respond');
  }
  return done;
}

async function passOn(counters: Int32Array, own: number): Promise<void> {
  while (Atomics.load(counters, SERVED) !== own) await sleep(PASS_ON_MS, undefined, { ref: false });
  Atomics.add(counters, SERVED, 1);
}

/**
 * Keeps ONNX Runtime from looking up a host of its maker and from writing to the home folder. It reads an environment
 * variable of the process when its first session is made. Other threads than the main one have a copy of the
 * environment, so what they set there doesn't reach it.
 */

const VARIABLE = 'ORT_DISABLE_TELEMETRY';
/** Says to threads that are started later, and to theirs, that the variable is set in the process. */
const MARK = 'orchard-nlp: the telemetry of ONNX Runtime is off';
const MAIN_THREAD_TIMEOUT_MS = 10_000;

function turnTelemetryOffForThreads(): void {
  if (!isMainThread) return;
  process.env[VARIABLE] = '1';
  setEnvironmentData(MARK, true);
}

/**
 * Await this before loading the runtime, in any thread.
 * @throws Error if this thread can't set the variable and its environment lacks it: the main thread doesn't react for
 *   10 s, or may not be asked (as with Node's `--permission`) and has never started a thread of Orchard's.
 */
export async function turnTelemetryOff(): Promise<void> {
  turnTelemetryOffForThreads();
  if (getEnvironmentData(MARK) === true) return;
  try {
    await setInMainThread();
  } catch (cause) {
    if (process.env[VARIABLE] === '1') return;
    const reason = `the telemetry of ONNX Runtime can't be turned off from this thread: set ${VARIABLE}=1 in the environment of the process`;
    throw new Error(reason, { cause });
  }
  setEnvironmentData(MARK, true);
}

/** The debugger's protocol reaches the main thread without code of ours there, even while it is in a loop. */
async function setInMainThread(): Promise<void> {
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  const expression = `process.env.${VARIABLE} = '1'`;
  try {
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`the main thread did not react for ${MAIN_THREAD_TIMEOUT_MS} ms`));
      const timer = setTimeout(late, MAIN_THREAD_TIMEOUT_MS);
      session.post('Runtime.evaluate', { expression }, (error, answer) => {
        clearTimeout(timer);
        if (error === null && answer.result.value === '1') resolve();
        else reject(error ?? new Error('the main thread could not set it'));
      });
    });
  } finally {
    session.disconnect();
  }
}

/** What terminals and supervisors send to all processes of a group that is to stop. */
export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Says that a script on the command line is of ES modules; Node starts no thread from a file with it. */
const INPUT_TYPE = '--input-type';

/** Starts a thread that may load ONNX Runtime or use a device. @param entry a file of the package */
export function startThread(entry: URL, options: WorkerOptions = {}): Worker {
  turnTelemetryOffForThreads();
  shareDeviceLock();
  const ofScript = process.execArgv.some((argument) => argument.startsWith(INPUT_TYPE));
  // Otherwise it has the process's own: said again, those of V8 would be refused.
  return new Worker(entry, { ...(ofScript && { execArgv: [] }), ...options });
}

/** Warns once in this thread and those that it starts later, also if they have other copies of this module. */
export function warnOnce(message: string, code: string): void {
  const mark = `orchard-nlp: warned of ${code}`;
  if (getEnvironmentData(mark) === true) return;
  setEnvironmentData(mark, true);
  process.emitWarning(message, { type: 'OrchardWarning', code });
}
