import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Predictor } from 'orchard-nlp';
import { z } from 'zod';
import { querySchema, validate } from '../../../src/contract/index.js';
import { Random } from '../../../src/system/index.js';
import { askRepeatedly } from '../../http/ask-repeatedly.js';
import { median, quantile } from '../../report.js';
import { LoopDelay } from '../serve-rounds.js';
import { textsFor } from '../texts.js';
import type { Mode, Rows } from './process.js';

/** The stages whose times the package publishes, in the order in which a text goes through them. */
const stageNames = ['queue', 'load', 'tokenize', 'run', 'decode'] as const;

const traceSchema = z.looseObject({ startTime: z.number(), endTime: z.number() });

/** Listens to the package's tracing channels, from its making until it is stopped. */
export class StageTimes {
  readonly #times = new Map<string, number[]>(stageNames.map((stage) => [stage, []]));
  readonly #listeners = stageNames.map((stage) => ({
    channel: `tracing:orchard.${stage}:end`,
    listen: (message: unknown) => {
      const { startTime, endTime } = traceSchema.parse(message);
      this.#times.get(stage)?.push(endTime - startTime);
    },
  }));

  constructor() {
    for (const { channel, listen } of this.#listeners) subscribe(channel, listen);
  }

  stop(): void {
    for (const { channel, listen } of this.#listeners) unsubscribe(channel, listen);
  }

  /** Milliseconds, in the order in which they were published. */
  of(stage: (typeof stageNames)[number]): readonly number[] {
    return this.#times.get(stage) ?? [];
  }
}

const WARM_UP = 50;

/** Where the time of one short text goes, from the call to its answer: medians, one text at a time. */
export const profile: Mode = async (amount, open) => {
  await using predictor = open();
  const texts = textsFor('classification', 'short', amount);
  const ask = async (text: string) =>
    (await predictor.predictPretrained('classification', text))._unsafeUnwrap().metadata.model_inference_time_ms;
  await timeEach(texts.slice(0, WARM_UP), ask);
  const untraced = await timeEach(texts, ask);
  const threads: number[] = [];
  for (const text of texts) threads.push(await ask(text));
  const traced = await traceEach(predictor, texts);
  const idle = await timeRoundTrips(texts, 0);
  const working = await timeRoundTrips(texts, median(threads));
  const validations = await timeEach(texts, async (text) => validate(querySchema, text, ['query']));
  return {
    ...traced,
    'in all, when nobody listens': row(untraced),
    "the response's own figure: tokenize, run, decode": row(threads),
    'to compare: a message to a thread and back': row(idle),
    'to compare: the same if the thread works so long in between': row(working),
    'to compare: checking the query': row(validations),
  };
};

function row(milliseconds: readonly number[]): Rows[string] {
  return { 'p50 µs': Math.round(1000 * median(milliseconds)) };
}

async function timeEach(texts: readonly string[], ask: (text: string) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (const text of texts) {
    const askedAt = performance.now();
    await ask(text);
    times.push(performance.now() - askedAt);
  }
  return times;
}

/** The stages, as far as the package publishes them. */
async function traceEach(predictor: Predictor, texts: readonly string[]): Promise<Rows> {
  const stages = new StageTimes();
  const began = new Instants('tracing:orchard.predict:start');
  const answered = new Instants('tracing:orchard.predict:asyncEnd');
  const before: number[] = [];
  const after: number[] = [];
  const hops: number[] = [];
  for (const [at, text] of texts.entries()) {
    const askedAt = performance.now();
    (await predictor.predictPretrained('classification', text))._unsafeUnwrap();
    const endedAt = performance.now();
    const [start, end] = [began.last, answered.last];
    if (start === undefined || end === undefined) continue;
    before.push(start - askedAt);
    after.push(endedAt - end);
    hops.push(end - start - stageNames.reduce((sum, stage) => sum + (stages.of(stage)[at] ?? 0), 0));
  }
  for (const listener of [stages, began, answered]) listener.stop();
  if (hops.length === 0) return {};
  return {
    'checking the query, finding the model': row(before),
    'waiting in the queue': row(stages.of('queue')),
    'hop to the worker and back': row(hops),
    tokenize: row(stages.of('tokenize')),
    run: row(stages.of('run')),
    'decode: lexical expert, blend, result': row(stages.of('decode')),
    'the answer to the caller': row(after),
  };
}

/** When something was last published on a channel. */
class Instants {
  readonly #channel: string;
  readonly #note = () => {
    this.last = performance.now();
  };
  last: number | undefined;

  constructor(channel: string) {
    this.#channel = channel;
    subscribe(channel, this.#note);
  }

  stop(): void {
    unsubscribe(this.#channel, this.#note);
  }
}

/** Answers a message when the milliseconds that it holds are over, at work all the while. */
const WORKER = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (message) => {
    const endAt = performance.now() + message.workMs;
    while (performance.now() < endAt);
    parentPort.postMessage(message);
  });`;

/** What a message to a thread and back takes when the thread works for so long in between, without that work. */
async function timeRoundTrips(texts: readonly string[], workMs: number): Promise<number[]> {
  const worker = new Worker(WORKER, { eval: true });
  const send = (text: string) =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage({ workMs, texts: [text] });
    });
  await timeEach(texts.slice(0, WARM_UP), send);
  const times = await timeEach(texts, send);
  await worker.terminate();
  return times.map((time) => time - workMs);
}

const ROUNDS = 8;

/**
 * The processor time of a text by ONNX Runtime and by WebAssembly, in rounds that take turns: the least of the rounds, which
 * other processes change least.
 */
export const engines: Mode = async (amount, open) => {
  const rows: Rows = {};
  await using onnx = open({ runtime: 'onnx' });
  await using wasm = open({ runtime: 'wasm' });
  const sides = [onnx, wasm];
  for (const predictor of sides) (await predictor.warm(['classification']))._unsafeUnwrap();
  for (const [length, perCall] of [
    ['short', 1],
    ['short', 20],
    ['mixed', 1],
    ['mixed', 20],
  ] as const) {
    const texts = textsFor('classification', length, amount);
    const calls = Array.from({ length: Math.ceil(amount / perCall) }, (_, at) =>
      texts.slice(at * perCall, (at + 1) * perCall),
    );
    const figures = sides.map((predictor) => ({ predictor, least: Number.POSITIVE_INFINITY }));
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const side of round % 2 === 0 ? figures : figures.toReversed()) {
        const before = process.cpuUsage();
        for (const call of calls) await askAll(side.predictor, call);
        const { user, system } = process.cpuUsage(before);
        if (round > 0) side.least = Math.min(side.least, (user + system) / 1000 / amount);
      }
    }
    const [first = Number.NaN, second = Number.NaN] = figures.map(({ least }) => least);
    rows[`${length}, ${perCall === 1 ? 'one at a time' : `batches of ${perCall}`}`] = {
      'onnx ms': Number(first.toFixed(2)),
      'wasm ms': Number(second.toFixed(2)),
      'wasm / onnx': Number((second / first).toFixed(2)),
    };
  }
  return rows;
};

async function askAll(predictor: Predictor, texts: readonly string[]): Promise<void> {
  const [text = ''] = texts;
  if (texts.length === 1) (await predictor.predictPretrained('classification', text))._unsafeUnwrap();
  else (await predictor.predictPretrainedBatch('classification', texts))._unsafeUnwrap();
}

const TEXTS = 1000;
/** Callers that keep the workers busy. */
const CALLERS = 64;
const SECONDS = 5;
const LOADED_SECONDS = 15;

/**
 * The time of one text when requests arrive at random, at a share of the highest throughput. Nobody waits for an answer
 * before asking again; a request's time counts from when it was due, however late the event loop was.
 */
export const latencyAtLoad: Mode = async (amount, open) => {
  await using predictor = open();
  const rows: Rows = {};
  for (const [name, texts] of [
    ['short', textsFor('classification', 'short', TEXTS)],
    ['mixed', textsFor('classification', 'mixed', TEXTS)],
  ] as const) {
    let next = 0;
    const ask = async () => {
      next += 1;
      return predictor.predictPretrained('classification', texts[next % TEXTS] ?? '');
    };
    const lanes = Array.from({ length: CALLERS }, () => async () => (await ask())._unsafeUnwrap());
    await askRepeatedly(lanes, 1);
    const { requestsPerSecond } = await askRepeatedly(lanes, SECONDS);
    const rate = amount * requestsPerSecond;
    const loopDelay = await LoopDelay.start();
    const { latencies, refused } = await askAtRandom(ask, rate, LOADED_SECONDS);
    const late = await loopDelay.stop();
    const [p50, p99] = [median(latencies), quantile(latencies, 0.99)];
    rows[name] = {
      'highest texts/s': Math.round(requestsPerSecond),
      'arriving/s': Math.round(rate),
      'p50 ms': Number(p50.toFixed(2)),
      'p99 ms': Number(p99.toFixed(2)),
      'p99 / p50': Number((p99 / p50).toFixed(1)),
      'loop delay p99 ms': Number(late.p99.toFixed(1)),
      refused,
    };
  }
  return rows;
};

/** @returns milliseconds of each request that was answered, and how many were not: a slower machine by now refuses some. */
async function askAtRandom(ask: () => Promise<Asked>, perSecond: number, seconds: number) {
  const latencies: number[] = [];
  let refused = 0;
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (const due of arrivals(perSecond, seconds, Random.fromSeed(3))) {
    const wait = startedAt + due - performance.now();
    if (wait > 0) await sleep(wait);
    const note = (answer: Asked) => {
      if (answer.isErr()) refused += 1;
      else latencies.push(performance.now() - startedAt - due);
    };
    asked.push(ask().then(note));
  }
  await Promise.all(asked);
  return { latencies, refused };
}

type Asked = Awaited<ReturnType<Predictor['predictPretrained']>>;

/** Times of a Poisson process, in whole milliseconds, which is what a timer can keep. */
export function arrivals(perSecond: number, seconds: number, random: Random): number[] {
  const times: number[] = [];
  const next = () => (-1000 * Math.log(1 - random.uniform())) / perSecond;
  for (let time = next(); time < 1000 * seconds; time += next()) times.push(Math.ceil(time));
  return times;
}
