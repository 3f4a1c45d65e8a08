import { join } from 'node:path';
import type { ErrorDescription, TrainingStats } from '../contract/index.js';
import { endOwnerOf, ownedName, readTextIfPresent, replaceFile } from '../system/index.js';
import { WORK_FOLDER } from './checkpoint-mark.js';
import type { TrainingRunEvent, TrainingSpec } from './training-run.js';

/** What a host sends to its runner, in a worker thread or child process. */
export type HostMessage =
  | { readonly type: 'run'; readonly spec: TrainingSpec }
  /** Stop; the outcome is then an AbortedError. `reason` is that of the host's signal. */
  | { readonly type: 'abort'; readonly reason: unknown };

/** What the runner sends back: events while it runs, then one outcome. */
export type RunnerMessage =
  | { readonly type: 'event'; readonly event: TrainingRunEvent }
  | { readonly type: 'done'; readonly stats: TrainingStats }
  | { readonly type: 'failed'; readonly error: ErrorDescription };

const RUNNER = 'runner';
/** Longer than a child process takes to notice that its parent is gone. */
const PATIENCE_MS = 30_000;

/**
 * Ends a child process that trains in this directory yet, although the process that had started it was killed: two
 * would overwrite each other's files.
 */
export async function endEarlierRunner(directory: string): Promise<void> {
  const earlier = await readTextIfPresent(join(directory, WORK_FOLDER, RUNNER));
  if (earlier !== undefined) await endOwnerOf(earlier, PATIENCE_MS);
}

/** Says that this process trains in the directory, and does nothing else, so that it may be ended. */
export async function announceRunner(directory: string): Promise<void> {
  await replaceFile(join(directory, WORK_FOLDER, RUNNER), ownedName());
}
