import { tracingChannel } from 'node:diagnostics_channel';
import type { Predictions } from './inference-service.js';
import type { PendingRequest } from './pending-request.js';
import type { BatchAnswer } from './worker.js';

/**
 * What tracing tools can subscribe to, by `node:diagnostics_channel`. Nothing is made or published for a channel that
 * nobody listens to.
 */

/** What subscribers of `orchard.predict` are told of a request, from its start to its end. */
export interface RequestTrace {
  /** The model's folder. */
  readonly model: string;
  /** Number of texts. */
  readonly texts: number;
}

/** What subscribers of a stage are told; the events `start` and `end` follow each other when the stage is over. */
export interface StageTrace {
  /** The model's folder. */
  readonly model: string;
  /** Number of texts that went through the stage together. */
  readonly texts: number;
  /** Milliseconds since 1970, with fractions. */
  readonly startTime: number;
  readonly endTime: number;
  /** Those of the requests that the texts belong to. */
  readonly requests: readonly RequestTrace[];
}

const predictChannel = tracingChannel<RequestTrace>('orchard.predict');
/** In the order in which a text goes through them. */
const stages = {
  queue: tracingChannel<StageTrace>('orchard.queue'),
  load: tracingChannel<StageTrace>('orchard.load'),
  tokenize: tracingChannel<StageTrace>('orchard.tokenize'),
  run: tracingChannel<StageTrace>('orchard.run'),
  decode: tracingChannel<StageTrace>('orchard.decode'),
} as const;

/** Runs a request as `orchard.predict`: start and end in the caller's context, asyncEnd when it is answered. */
export function tracePredict(
  directory: string,
  texts: number,
  predict: (trace: RequestTrace | undefined) => Promise<Predictions>,
): Promise<Predictions> {
  if (!predictChannel.hasSubscribers) return predict(undefined);
  const trace: RequestTrace = { model: directory, texts };
  return predictChannel.tracePromise(() => predict(trace), trace);
}

/** A batch that was answered. */
interface AnsweredBatch {
  readonly directory: string;
  readonly requests: readonly PendingRequest[];
  readonly texts: number;
  /** When the worker was given it, by `performance.now`. */
  readonly startedAt: number;
  readonly answer: BatchAnswer;
}

/** Publishes the stages of a batch, as if each had run in one piece. */
export function traceBatch({ directory, requests, texts, startedAt, answer }: AnsweredBatch): void {
  const traces = () => requests.flatMap(({ trace }) => trace ?? []);
  if (stages.queue.hasSubscribers) {
    for (const request of requests) {
      if (request.startedAt !== startedAt) continue;
      const waited = [request.enqueuedAt, startedAt] as const;
      publish('queue', waited, { model: directory, texts: request.texts.length, requests: traces() });
    }
  }
  let start = startedAt;
  for (const stage of ['load', 'tokenize', 'run', 'decode'] as const) {
    const end = start + answer.times[stage];
    const took = stage !== 'load' || end > start;
    if (took && stages[stage].hasSubscribers) {
      publish(stage, [start, end], { model: directory, texts, requests: traces() });
    }
    start = end;
  }
}

/** Publishes the loading of a model that nobody waits for. @param startedAt by `performance.now`. */
export function traceLoad(directory: string, startedAt: number, ms: number): void {
  if (!stages.load.hasSubscribers) return;
  publish('load', [startedAt, startedAt + ms], { model: directory, texts: 0, requests: [] });
}

function publish(
  stage: keyof typeof stages,
  [start, end]: readonly [number, number],
  rest: Pick<StageTrace, 'model' | 'texts' | 'requests'>,
): void {
  const { timeOrigin } = performance;
  const trace: StageTrace = { ...rest, startTime: timeOrigin + start, endTime: timeOrigin + end };
  stages[stage].start.publish(trace);
  stages[stage].end.publish(trace);
}
