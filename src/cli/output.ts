import { once } from 'node:events';
import type { Terminal } from './terminal.js';

/** What a command writes: its results to standard output, what else is to be known to standard error. */
export class Output {
  readonly #terminal: Terminal;
  readonly #closing = new AbortController();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.stdout.on('error', (error) => this.#ended(error));
    terminal.stderr.on('error', () => undefined); // nobody is left to tell
  }

  /** Fires once nobody reads the results any more, as behind `| head`: whoever makes them may stop. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Whether a person reads the results. */
  get isTerminal(): boolean {
    return this.#terminal.stdout.isTTY === true;
  }

  /** A line of results, or several. Resolves once there is room for more, or nobody reads on. */
  async line(text: string): Promise<void> {
    await this.write(`${text}\n`);
  }

  /** A result as one line of JSON. */
  async json(value: unknown): Promise<void> {
    await this.line(JSON.stringify(value));
  }

  async write(text: string): Promise<void> {
    if (this.closed.aborted || this.#terminal.stdout.write(text)) return;
    await once(this.#terminal.stdout, 'drain', { signal: this.closed }).catch(() => undefined);
  }

  /** What a person may want to know, and a script does not: silent unless results go to a terminal. */
  note(text: string): void {
    if (this.isTerminal) this.warn(text);
  }

  /** What has to be known. */
  warn(text: string): void {
    this.#terminal.stderr.write(`${text}\n`);
  }

  #ended(error: Error): void {
    const isPipe = 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
    if (!isPipe && !this.closed.aborted) this.warn(`standard output: ${error.message}`);
    this.#closing.abort(error);
  }
}
