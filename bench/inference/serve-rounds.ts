import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type NamedNumbers,
  type Opening,
  openingSchema,
  type Reply,
  type Round,
  type RoundFigures,
  requestSchema,
} from './contestant.js';

const RESOLUTION_MS = 2;

/** How late the timers of this thread are, from its start until it is stopped. */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  private constructor() {
    this.#histogram.enable();
  }

  static async start(): Promise<LoopDelay> {
    const delay = new LoopDelay();
    // An interval counts once its end was seen, and the first one has no beginning.
    await sleep(2 * RESOLUTION_MS);
    return delay;
  }

  /** @returns milliseconds. */
  async stop(): Promise<{ readonly p99: number; readonly max: number }> {
    await sleep(2 * RESOLUTION_MS);
    this.#histogram.disable();
    return { p99: late(this.#histogram.percentile(99)), max: late(this.#histogram.max) };
  }
}

/** The histogram counts whole intervals, in nanoseconds, of which the resolution is no delay. */
function late(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
}

/** A library with loaded models. */
export interface Answerer {
  /** With its version. */
  readonly name: string;
  /** Answers all texts in one call. */
  answer(texts: readonly string[]): Promise<unknown>;
  /** What the encoder alone says about each text. */
  check(texts: readonly string[]): Promise<readonly NamedNumbers[]>;
  close(): Promise<unknown>;
}

/** Answers requests until standard input ends: the main program of a contestant in JavaScript. */
export async function serveRounds(open: (opening: Opening) => Promise<Answerer>): Promise<void> {
  const answerer = await open(openingSchema.parse(JSON.parse(process.argv[2] ?? '')));
  say({ ready: answerer.name });
  for await (const line of createInterface({ input: process.stdin })) {
    const request = requestSchema.parse(JSON.parse(line));
    if ('check' in request) say({ answers: [...(await answerer.check(request.check))] });
    else say(await runRound(answerer, request));
  }
  await answerer.close();
}

function say(reply: Reply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

async function runRound(answerer: Answerer, { calls, callers }: Round): Promise<RoundFigures> {
  const milliseconds: number[] = [];
  const waiting = calls.values();
  const loopDelay = await LoopDelay.start();
  const usedBefore = process.cpuUsage();
  const startedAt = performance.now();
  const caller = async () => {
    for (const texts of waiting) {
      const askedAt = performance.now();
      await answerer.answer(texts);
      milliseconds.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage();
  return {
    milliseconds,
    elapsedMs,
    processorMs: (user + system - usedBefore.user - usedBefore.system) / 1000,
    stallMs: await loopDelay.stop(),
    peakMebibytes: process.resourceUsage().maxRSS / 1024,
  };
}
