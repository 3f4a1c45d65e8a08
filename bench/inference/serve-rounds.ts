import { createInterface } from 'node:readline';
import { LoopDelay } from './loop-delay.js';
import {
  type NamedNumbers,
  type Opening,
  openingSchema,
  type Reply,
  type Round,
  type RoundFigures,
  requestSchema,
} from './protocol.js';
import type { StageTimes } from './stage-times.js';

/** A library with loaded models. */
export interface Answerer {
  /** With its version. */
  readonly name: string;
  /** Answers all texts in one call. */
  answer(texts: readonly string[]): Promise<unknown>;
  /** What the encoder alone says about each text. */
  check(texts: readonly string[]): Promise<readonly NamedNumbers[]>;
  /** Follows the stages of what is answered from now on, in a library that tells them. */
  trace?(): StageTimes;
  close(): Promise<unknown>;
}

/** Answers requests until standard input ends: the main program of a contestant in Node. */
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

async function runRound(answerer: Answerer, { calls, callers, traced }: Round): Promise<RoundFigures> {
  const milliseconds: number[] = [];
  const waiting = calls.values();
  const loopDelay = await LoopDelay.start();
  const stages = traced ? answerer.trace?.() : undefined;
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
  stages?.stop();
  const { p99 } = await loopDelay.stop();
  return {
    milliseconds,
    elapsedMs,
    loopDelayMs: p99,
    peakMebibytes: process.resourceUsage().maxRSS / 1024,
    decodingShare: stages?.decodingShare ?? null,
  };
}
