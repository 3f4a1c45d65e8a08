import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type NamedNumbers, type Opening, type Reply, type Round, type RoundFigures, replySchema } from './protocol.js';

/** Most characters of its standard error that are kept. */
const KEPT_ERRORS = 2000;

/**
 * A library with its models in a process of its own, so that neither the memory nor the event loop of one is counted to
 * another. Between its rounds it does nothing.
 */
export class Contestant {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #errors = '';
  name = '';

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-KEPT_ERRORS);
    });
    // Writing to a process that has ended fails; the next reply then tells why it ended.
    child.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** @returns the reason as text if it does not run. */
  static async start(command: readonly string[], opening: Opening): Promise<Contestant | string> {
    const [program = '', ...args] = command;
    const child = spawn(program, [...args, JSON.stringify(opening)]);
    const failed = new Promise<string>((resolve) => child.on('error', () => resolve(`${program} does not start`)));
    const contestant = new Contestant(child);
    const first = await Promise.race([contestant.#next().catch(String), failed]);
    if (typeof first === 'string') return first;
    if ('failure' in first) return first.failure;
    if ('ready' in first) contestant.name = first.ready;
    return contestant;
  }

  async round(round: Round): Promise<RoundFigures> {
    const reply = await this.#ask(round);
    if ('milliseconds' in reply) return reply;
    throw new Error(`${this.name}: ${JSON.stringify(reply)}`);
  }

  /** What the encoder alone says about each text. */
  async check(texts: readonly string[]): Promise<readonly NamedNumbers[]> {
    const reply = await this.#ask({ check: texts });
    if ('answers' in reply) return reply.answers;
    throw new Error(`${this.name}: ${JSON.stringify(reply)}`);
  }

  /** Ends the process once it has closed its models. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await ended;
  }

  #ask(request: Round | { readonly check: readonly string[] }): Promise<Reply> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    return this.#next();
  }

  async #next(): Promise<Reply> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.name}: ${this.#errors.trim() || 'it ended without a word'}`);
    return replySchema.parse(JSON.parse(value));
  }
}
