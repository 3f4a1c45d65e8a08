import { Worker, type WorkerOptions } from 'node:worker_threads';
import { shareDeviceTurns } from './device-turns.js';
import { turnTelemetryOffForThreads } from './runtime-telemetry.js';

/** Says that a script on the command line is of ES modules; Node starts no thread from a file with it. */
const INPUT_TYPE = '--input-type';

/** Starts a thread that may load ONNX Runtime or use a device. @param entry a file of the package */
export function startThread(entry: URL, options: WorkerOptions = {}): Worker {
  turnTelemetryOffForThreads();
  shareDeviceTurns();
  const ofScript = process.execArgv.some((argument) => argument.startsWith(INPUT_TYPE));
  // Otherwise it has the process's own: said again, those of V8 would be refused.
  return new Worker(entry, { ...(ofScript && { execArgv: [] }), ...options });
}
