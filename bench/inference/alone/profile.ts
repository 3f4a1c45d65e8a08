import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Worker } from 'node:worker_threads';
import type { Predictor } from 'orchard-nlp';
import { querySchema, validate } from '../../../src/contract/index.js';
import { median } from '../../report.js';
import { shortTexts } from '../scenarios.js';
import { StageTimes, stageNames } from '../stage-times.js';
import type { Mode, Rows } from './mode.js';

const WARM_UP = 50;

/** Where the time of one short text goes, from the call to its answer: medians, one text at a time. */
export const profile: Mode = async ({ amount, ids }, open) => {
  await using predictor = open();
  const texts = shortTexts('classification', amount);
  const ask = async (text: string) =>
    (await predictor.predictCustom(ids.classification, text))._unsafeUnwrap().metadata.model_inference_time_ms;
  await timeEach(texts.slice(0, WARM_UP), ask);
  const untraced = await timeEach(texts, ask);
  const threads: number[] = [];
  for (const text of texts) threads.push(await ask(text));
  const traced = await traceEach(predictor, ids.classification, texts);
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
async function traceEach(predictor: Predictor, id: string, texts: readonly string[]): Promise<Rows> {
  const stages = new StageTimes();
  const began = new Instants('tracing:orchard.predict:start');
  const answered = new Instants('tracing:orchard.predict:asyncEnd');
  const before: number[] = [];
  const after: number[] = [];
  const hops: number[] = [];
  for (const [at, text] of texts.entries()) {
    const askedAt = performance.now();
    (await predictor.predictCustom(id, text))._unsafeUnwrap();
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
