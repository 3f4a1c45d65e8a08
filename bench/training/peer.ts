import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const messageSchema = z.union([
  z.strictObject({ ready: z.string() }),
  z.strictObject({
    milliseconds: z.array(z.number()),
    loss: z.number(),
    processorSeconds: z.number().optional(),
  }),
  z.strictObject({ peakMebibytes: z.number() }),
  z.strictObject({ failure: z.string() }),
]);
type Message = z.infer<typeof messageSchema>;

/**
 * A process that trains the same model as the others, on request, so that rounds can take turns. It prints
 * `{"ready": name}`, answers a line that holds a number of steps with `{"milliseconds": […], "loss": …}`, and
 * the end of its input with `{"peakMebibytes": …}`.
 */
export class Peer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #messages: AsyncIterator<string>;
  #errors = '';
  name = '';
  /** Of all processors, in the last round, where the peer says it; a machine that others use changes it little. */
  processorSeconds = Number.NaN;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-2000);
    });
    this.#messages = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** @returns the reason as text if it does not run. */
  static async start(
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Peer | string> {
    const child = spawn(command, args, { env: { ...process.env, ...environment } });
    const failed = new Promise<string>((resolve) => child.on('error', () => resolve(`${command} does not start`)));
    const peer = new Peer(child);
    const first = await Promise.race([peer.#next().catch(String), failed]);
    if (typeof first === 'string') return first;
    if ('failure' in first) return first.failure;
    if ('ready' in first) peer.name = first.ready;
    return peer;
  }

  /** @returns milliseconds of each step. */
  async round(steps: number): Promise<readonly number[]> {
    this.#child.stdin.write(`${steps}\n`);
    const message = await this.#next();
    if ('milliseconds' in message) {
      this.processorSeconds = message.processorSeconds ?? Number.NaN;
      return message.milliseconds;
    }
    throw new Error(`${this.name}: ${JSON.stringify(message)}`);
  }

  /** Ends the process. @returns its peak memory, MiB. */
  async stop(): Promise<number> {
    this.#child.stdin.end();
    const message = await this.#next();
    return 'peakMebibytes' in message ? message.peakMebibytes : Number.NaN;
  }

  async #next(): Promise<Message> {
    const { value, done } = await this.#messages.next();
    if (done) throw new Error(this.#errors.trim().split('\n').at(-1) ?? 'it ended without a word');
    return messageSchema.parse(JSON.parse(value));
  }
}
