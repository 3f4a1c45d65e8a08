import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Reloads {
  /** The address of a build of the package. */
  readonly library: string;
  readonly model: string;
  readonly loads: number;
  readonly isolation: 'auto' | 'worker';
  /** Whether garbage is collected after each load; otherwise as Node sees fit. */
  readonly collects: boolean;
}

/** A process after one of its loads. */
export interface AfterLoad {
  /** Resident memory in bytes. */
  readonly rss: number;
  /** Worker threads. */
  readonly threads: number;
  /** All threads; 0 where the system doesn't list them. */
  readonly tasks: number;
}

/** Loads a model again and again in a process that closes none of them. */
export async function reload({ library, model, loads, isolation, collects }: Reloads): Promise<readonly AfterLoad[]> {
  const program = fileURLToPath(new URL('program.mjs', import.meta.url));
  const args = [...(collects ? ['--expose-gc'] : []), program, library, model, `${loads}`, isolation];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}
