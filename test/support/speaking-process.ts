import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A process that runs a TypeScript file and says what it does, a line each; and the lines so far. */
export class SpeakingProcess {
  readonly #child: ChildProcess;
  readonly ended: Promise<void>;
  readonly lines: string[] = [];
  hasEnded = false;
  #rest = '';
  errors = '';

  /** @param settings are its one argument, as JSON. @param TMPDIR where its temporary files go. */
  constructor(script: URL, settings: unknown, TMPDIR: string) {
    const env = { ...process.env, TMPDIR };
    const args = ['--import', 'tsx', fileURLToPath(script), JSON.stringify(settings)];
    this.#child = spawn(process.execPath, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdin?.on('error', () => undefined); // it has ended
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

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** kill -9: the process alone, or with the child processes in which it trains. */
  async kill(withChildren: boolean): Promise<void> {
    const { pid } = this.#child;
    if (pid !== undefined && !this.hasEnded) process.kill(withChildren ? -pid : pid, 'SIGKILL');
    await this.ended;
  }

  /** Asks it to end in good order. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    this.lines.push(...lines);
  }
}
