import { type ChildProcess, spawn } from 'node:child_process';
import { clearTimeout, setTimeout } from 'node:timers';
import type { TeacherAnswer, TeacherCall } from '../api/index.js';
import { messageOf } from '../contract/index.js';
import { lines } from '../inference/index.js';

/**
 * A program that answers texts: it reads a line of JSON for each, `{"id": 7, "text": "…"}` (of a question also `candidates`),
 * and writes a line for each, in any order: `{"id": 7, "answer": …}`, or `{"id": 7, "error": "…"}` to be asked again. It ends
 * once its input does (docs/distill.md).
 */

interface Waiting {
  readonly answered: (answer: TeacherAnswer) => void;
  readonly failed: (error: Error) => void;
}

/** What of a program's standard error its failure shows. */
const SHOWN_CHARACTERS = 2000;
/** How long a program may take to end. */
const END_MS = 5000;

export class TeacherCommand {
  readonly #command: string;
  #running: Program | undefined;

  constructor(command: string) {
    this.#command = command;
  }

  /** Starts the program unless it runs. @throws Error with what it wrote to standard error, if it ends too early */
  async ask(texts: readonly string[], { signal, candidates }: TeacherCall): Promise<readonly TeacherAnswer[]> {
    if (this.#running === undefined || this.#running.hasEnded) this.#running = new Program(this.#command);
    const program = this.#running;
    const answers = texts.map((text, at) => program.ask(text, candidates[at]));
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Answers that are no longer awaited may fail.
    for (const answer of answers) answer.catch(() => undefined);
    stopped.catch(() => undefined);
    return Promise.race([Promise.all(answers), stopped]);
  }

  /** Ends the program: closes its input, and kills it if that isn't enough. */
  async close(): Promise<void> {
    await this.#running?.close();
  }
}

class Program {
  readonly #command: string;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #asked = 0;
  #complaints = '';
  hasEnded = false;

  constructor(command: string) {
    this.#command = command;
    this.#child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    });
    // Without a free file descriptor it has no streams, only an error.
    const { stdin, stdout, stderr } = this.#child;
    this.#ended = new Promise((resolve) => {
      this.#child.on('error', (error) => this.#end(error.message, resolve));
      const read = stdout ? this.#read(stdout) : Promise.resolve();
      this.#child.once('close', (code, signal) => {
        const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
        void read.then(() => this.#end(how, resolve));
      });
    });
    stdin?.on('error', () => undefined); // its end says why
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints = (this.#complaints + text).slice(-SHOWN_CHARACTERS);
    });
  }

  ask(text: string, candidates: readonly string[] | undefined): Promise<TeacherAnswer> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = new Promise<TeacherAnswer>((answered, failed) => this.#waiting.set(id, { answered, failed }));
    const line = JSON.stringify({ id, text, ...(candidates && { candidates }) });
    this.#child.stdin?.write(`${line.replace(/[\u2028\u2029]/g, escaped)}\n`);
    return answer;
  }

  /** Ends lines at line feeds only: an answer may have other separators in it, such as U+2028. */
  async #read(stdout: AsyncIterable<string | Uint8Array>): Promise<void> {
    try {
      for await (const line of lines(stdout)) this.#take(line);
    } catch (thrown) {
      this.#fail(`could not be read: ${messageOf(thrown)}`);
      this.#kill();
    }
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    const { id, answer, error } = fieldsOf(line);
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (typeof id !== 'number' || waiting === undefined) {
      const expected = 'expected {"id": …, "answer": …} with the id of a text that has no answer yet';
      const wrote = `wrote ${JSON.stringify(line.slice(0, 200))}`;
      this.#fail(`${wrote}; ${expected}; write everything else to standard error`);
      this.#kill();
      return;
    }
    this.#waiting.delete(id);
    if (error !== undefined) waiting.failed(new Error(String(error)));
    else waiting.answered(answer ?? null);
  }

  #end(how: string, resolve: () => void): void {
    this.#fail(`${how} before it answered`);
    resolve();
  }

  #fail(what: string): void {
    this.hasEnded = true;
    const complaints = this.#complaints.trim();
    const error = new Error(`${this.#command} ${what}${complaints === '' ? '' : `\n${complaints}`}`);
    for (const { failed } of this.#waiting.values()) failed(error);
    this.#waiting.clear();
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#kill(), END_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** With what its shell started. */
  #kill(): void {
    const { pid } = this.#child;
    try {
      if (pid !== undefined && process.platform !== 'win32') process.kill(-pid, 'SIGKILL');
      else this.#child.kill('SIGKILL');
    } catch {
      // it has ended meanwhile
    }
  }
}

/** Some programs end a line at these characters, which JSON allows in a text as they are. */
function escaped(separator: string): string {
  return `\\u${separator.charCodeAt(0).toString(16)}`;
}

interface Line {
  readonly id?: unknown;
  readonly answer?: TeacherAnswer;
  readonly error?: unknown;
}

/** The library checks the answer. */
function fieldsOf(line: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
