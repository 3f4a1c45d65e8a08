import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

/** What a contestant's process is told and what it answers: one JSON object a line, on its standard input and output. */

export const openingSchema = z.strictObject({
  /** One model, or those of a medley: sub-folders of one folder. */
  models: z
    .array(
      z.strictObject({
        task: z.enum(['text-classification', 'token-classification', 'feature-extraction']),
        directory: z.string(),
      }),
    )
    .min(1)
    .readonly(),
  /** Worker threads in Orchard; threads of a run in its peers. */
  threads: z.int(),
  /** Weights, in the peers; in Orchard, config.json says it. */
  dtype: z.enum(['fp32', 'q8']),
});
/** What a contestant loads: the only argument of its process. */
export type Opening = z.infer<typeof openingSchema>;

const roundSchema = z.strictObject({
  /** The texts of each call. */
  calls: z.array(z.array(z.string()).readonly()).readonly(),
  /** How many callers there are; each makes its next call when its last one was answered. */
  callers: z.int(),
});
export type Round = z.infer<typeof roundSchema>;

export const requestSchema = z.union([
  roundSchema,
  /** Answers of the encoder alone, in one call. */
  z.strictObject({ check: z.array(z.string()).readonly() }),
]);

/** Numbers of one answer by their names, equal in every library. */
export type NamedNumbers = Readonly<Record<string, number>>;

const figuresSchema = z.strictObject({
  /** Of each call. */
  milliseconds: z.array(z.number()),
  elapsedMs: z.number(),
  /** Of all processors and all threads of the process. */
  processorMs: z.number(),
  /** How late the event loop was: the 99th percentile and the longest; null where there is none. */
  stallMs: z.strictObject({ p99: z.number(), max: z.number() }).nullable(),
  /** The most resident memory that the process has had so far. */
  peakMebibytes: z.number(),
});
/** What one round came to. */
export type RoundFigures = z.infer<typeof figuresSchema>;

const replySchema = z.union([
  /** The library and its version: the first line. */
  z.strictObject({ ready: z.string() }),
  figuresSchema,
  z.strictObject({ answers: z.array(z.record(z.string(), z.number())) }),
  z.strictObject({ failure: z.string() }),
]);
export type Reply = z.infer<typeof replySchema>;

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
