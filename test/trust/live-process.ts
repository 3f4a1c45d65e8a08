import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TrainingIsolation, TrainingRequest } from 'orchard-nlp';

const script = fileURLToPath(new URL('./processes/live.ts', import.meta.url));

export interface LiveSettings {
  readonly directory: string;
  readonly isolation: TrainingIsolation;
  readonly request: TrainingRequest;
  readonly jobs: number;
}

/** A process that trains, asks and deletes (processes/live.ts), with what it has said so far. */
export class LiveProcess {
  readonly #child: ChildProcess;
  readonly ended: Promise<void>;
  readonly lines: string[] = [];
  hasEnded = false;
  #rest = '';
  errors = '';

  constructor(settings: LiveSettings, TMPDIR: string) {
    const env = { ...process.env, TMPDIR };
    const args = ['--import', 'tsx', script, JSON.stringify(settings)];
    this.#child = spawn(process.execPath, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.hasEnded = true;
        resolve();
      });
    });
  }

  /** Resolves when a line begins with this, for the n-th time, or the process has ended. */
  async says(beginning: string, times = 1): Promise<boolean> {
    for (;;) {
      if (this.lines.filter((line) => line.startsWith(beginning)).length >= times) return true;
      if (this.hasEnded) return false;
      await Promise.race([delay(5), this.ended]);
    }
  }

  /** kill -9: the process alone, or with the child processes in which it trains. */
  async kill(withChildren: boolean): Promise<void> {
    const { pid } = this.#child;
    if (pid !== undefined && !this.hasEnded) process.kill(withChildren ? -pid : pid, 'SIGKILL');
    await this.ended;
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    this.lines.push(...lines);
  }
}
