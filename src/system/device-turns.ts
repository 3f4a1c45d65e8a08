import { setTimeout as sleep } from 'node:timers/promises';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
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

/** Call this before starting a thread that may use a device. Does nothing outside the main thread. */
export function shareDeviceTurns(): void {
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
export async function takeDeviceTurn(device: string): Promise<() => void> {
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
    throw new DeviceError(device, 'run', 'another thread of this process keeps it and does not answer');
  }
  return done;
}
