import { Worker, type WorkerOptions } from 'node:worker_threads';
import { shareDeviceTurns } from './device-turns.js';
import { turnTelemetryOffForThreads } from './runtime-telemetry.js';

/** Says that a script from the command line is of ES modules; Node starts no thread from a file with it. */
const INPUT_TYPE = '--input-type';

/** Starts a thread that may load ONNX Runtime or use a device. @param entry a file of the package */
export function startThread(entry: URL, options: WorkerOptions = {}): Worker {
  turnTelemetryOffForThreads();
  shareDeviceTurns();
  return new Worker(entry, { execArgv: withoutInputType(process.execArgv), ...options });
}

/** Of the arguments that Node itself has, those that a thread of a file takes. */
function withoutInputType(args: readonly string[]): string[] {
  return args.filter((argument, index) => !argument.startsWith(INPUT_TYPE) && args[index - 1] !== INPUT_TYPE);
}
