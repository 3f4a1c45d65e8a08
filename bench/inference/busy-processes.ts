import { type ChildProcess, spawn } from 'node:child_process';

/** Never stops by itself, except when its parent has ended. */
const PROGRAM = 'const { ppid } = process; while (process.ppid === ppid);';

/** Processes that each keep a core busy, until they are disposed of. */
export class BusyProcesses implements Disposable {
  readonly #children: readonly ChildProcess[];

  constructor(count: number) {
    this.#children = Array.from({ length: count }, () => spawn(process.execPath, ['-e', PROGRAM], { stdio: 'ignore' }));
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}
