import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { AbortedError, type OrchardError, ValidationError } from '../contract/index.js';
import { type DatasetWarning, grouped } from '../datasets/index.js';
import { latePattern, STOP_SIGNALS } from '../system/index.js';
import { onOneLine, warningLine } from './format.js';

interface MayBeTerminal {
  readonly isTTY?: boolean;
  /** Characters per line of a terminal. */
  readonly columns?: number;
}

/** Standard streams and environment. Tests pass their own. */
export interface Terminal {
  readonly stdin: Readable & MayBeTerminal;
  readonly stdout: Writable & MayBeTerminal;
  readonly stderr: Writable & MayBeTerminal;
  readonly env: NodeJS.ProcessEnv;
}

/** Tabs, line ends, the colours of `explain`, and all other control characters. */
const CONTROL_CHARACTERS = latePattern(String.raw`(\t|\r?\n|\x1B\[3[129]m)|\p{Cc}`, 'gu');

/** A text for a stream. A terminal would obey control characters in texts, labels and names; it gets � instead. */
function printable({ isTTY }: MayBeTerminal, text: string): string {
  if (isTTY !== true) return text;
  return text.replace(CONTROL_CHARACTERS(), (_, harmless?: string) => harmless ?? '\uFFFD');
}

/** @returns whether there is room for more */
export function write(stream: Writable & MayBeTerminal, text: string): boolean {
  return stream.write(printable(stream, text));
}

/** Results go to standard output, everything else to standard error. */
export class Output {
  readonly #terminal: Terminal;
  readonly #closing = new AbortController();
  readonly isJson: boolean;
  #hasFailed = false;
  /** Puts the flags of the command in place of the options that a message names. */
  inFlags: (message: string) => string = (message) => message;
  /** The same for the message of an error. */
  messageOf: (error: OrchardError) => string = ({ message }) => message;

  constructor(terminal: Terminal, isJson: boolean) {
    this.#terminal = terminal;
    this.isJson = isJson;
    terminal.stdout.on('error', (error) => this.#ended(error));
    terminal.stderr.on('error', () => undefined); // no reader is left
  }

  /** Fires when the reader of the results has gone, as with `| head`; stop making them then. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  get isTerminal(): boolean {
    return this.#terminal.stdout.isTTY === true;
  }

  /** Whether the exit code is 1 although the command runs to its end. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  fail(): void {
    this.#hasFailed = true;
  }

  /** A result: its value as one line of JSON, or these lines. */
  async result(value: unknown, lines: string | readonly string[]): Promise<void> {
    if (this.isJson) return this.line(JSON.stringify(value));
    for (const line of [lines].flat()) await this.line(line);
  }

  /** Resolves once there is room for more, or the reader has gone. */
  async line(text: string): Promise<void> {
    await this.write(`${text}\n`);
  }

  async write(text: string): Promise<void> {
    if (this.closed.aborted || write(this.#terminal.stdout, text)) return;
    await once(this.#terminal.stdout, 'drain', { signal: this.closed }).catch(() => undefined);
  }

  /** For people, not for scripts: silent unless results go to a terminal. */
  note(text: string): void {
    if (this.isTerminal) this.warn(text);
  }

  warn(text: string): void {
    write(this.#terminal.stderr, `${text}\n`);
  }

  warnings(all: readonly DatasetWarning[]): void {
    for (const each of all) this.warn(warningLine({ ...each, message: this.inFlags(each.message) }));
  }

  /** A text that has no result: the exit code becomes 1. @param source for the message: `texts.csv line` */
  async problem(source: string, line: number, error: string, isJson = this.isJson): Promise<void> {
    this.fail();
    this.warn(`${source} ${grouped(line)}: ${error}`);
    if (isJson) await this.line(JSON.stringify({ line, error }));
  }

  #ended(error: Error): void {
    const isPipe = 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED');
    if (!isPipe && !this.closed.aborted) {
      this.fail();
      this.warn(`standard output: ${error.message}`);
    }
    this.#closing.abort(error);
  }

  /** Resolves once all results are written, or can't be. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => void this.#terminal.stdout.write('', () => resolve()));
  }
}

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const CLEAR = '\r\u001B[K';

/** A progress bar on standard error, drawn only if that is a terminal. */
export class Progress {
  readonly #stderr: Terminal['stderr'];
  readonly #isShown: boolean;
  #drawnAt = 0;

  constructor({ stderr }: Terminal, isShown = true) {
    this.#stderr = stderr;
    this.#isShown = isShown && stderr.isTTY === true;
  }

  /** @param fraction 0 to 1; undefined if the total is unknown. @param label printed after the bar */
  show(fraction: number | undefined, label: string): void {
    const now = performance.now();
    if (!this.#isShown || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const full = Math.round(BAR_WIDTH * (fraction ?? 0));
    const bar =
      fraction === undefined
        ? ''
        : `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${String(Math.floor(100 * fraction)).padStart(3)} %  `;
    const width = this.#stderr.columns ?? 80;
    this.#stderr.write(CLEAR + printable(this.#stderr, `${bar}${onOneLine(label)}`.slice(0, width - 1)));
  }

  clear(): void {
    if (this.#isShown && this.#drawnAt > 0) this.#stderr.write(CLEAR);
    this.#drawnAt = 0;
  }
}

/** Runs work with a signal that fires at the first SIGINT, SIGTERM or SIGHUP. A second one ends the process at once. */
export async function interruptible<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const ignore = () => {
    for (const name of STOP_SIGNALS) process.off(name, stop);
  };
  const stop = () => {
    ignore(); // from now on, signals have their usual effect
    controller.abort();
  };
  for (const name of STOP_SIGNALS) process.on(name, stop);
  try {
    return await work(controller.signal);
  } finally {
    ignore();
  }
}

/** @throws ValidationError for another answer than `expected`, or without a terminal; AbortedError for no answer */
export async function confirm({ stdin, stderr }: Terminal, warning: string, expected: string): Promise<void> {
  if (!stdin.isTTY) throw refusal('--yes', `${warning} Add --yes, because standard input is not a terminal`);
  const { createInterface } = await import('node:readline'); // help does not need it
  const questions = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      // After Ctrl+C, after Ctrl+D, and where the input ends.
      const aborted = () => {
        stderr.write('\n');
        reject(new AbortedError('the confirmation'));
      };
      questions.once('close', aborted);
      questions.question(printable(stderr, `${warning} Type ${expected} to continue: `), (typed) => {
        questions.off('close', aborted);
        resolve(typed);
      });
    });
    if (answer !== expected)
      throw refusal('confirmation', `${JSON.stringify(answer)} does not match; nothing was done`);
  } finally {
    questions.close();
  }
}

function refusal(where: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [where], msg, type: 'arguments' }]);
}
