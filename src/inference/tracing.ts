import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { RunningBatch } from './batch-scheduler.js';
import type { Predictions } from './inference-service.js';
import type { BatchAnswer } from './worker.js';

/**
 * Channels of `node:diagnostics_channel` that tracing tools can subscribe to. A channel without subscribers costs nothing.
 */

/** The message of `orchard.predict`, from a request's start to its end. */
export interface RequestTrace {
  /** The model's folder. */
  readonly model: string;
  /** Number of texts. */
  readonly texts: number;
}

/** The message of a stage; its events `start` and `end` are both published when the stage is over. */
export interface StageTrace {
  /** The model's folder. */
  readonly model: string;
  /** Number of texts in the stage. */
  readonly texts: number;
  /** Milliseconds since 1970, with fractions. */
  readonly startTime: number;
  readonly endTime: number;
  /** The requests of the texts. */
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

/** Bun's tracing channels don't say whether they have subscribers; their parts do. */
function isObserved<T extends object>(channel: TracingChannel<T>): boolean {
  const { start, end, asyncStart, asyncEnd, error } = channel;
  return channel.hasSubscribers ?? [start, end, asyncStart, asyncEnd, error].some((part) => part.hasSubscribers);
}

/** Traces a request as `orchard.predict`: start and end in the caller's context, asyncEnd when it is answered. */
export function tracePredict(
  directory: string,
  texts: number,
  predict: (trace: RequestTrace | undefined) => Promise<Predictions>,
): Promise<Predictions> {
  if (!isObserved(predictChannel)) return predict(undefined);
  const trace: RequestTrace = { model: directory, texts };
  return predictChannel.tracePromise(() => predict(trace), trace);
}

/** @param startedAt when the worker received the batch, by `performance.now`. */
export function traceBatch({ directory, requests, texts }: RunningBatch, startedAt: number, answer: BatchAnswer): void {
  const traces = () => requests.flatMap(({ trace }) => trace ?? []);
  if (isObserved(stages.queue)) {
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
    if (took && isObserved(stages[stage])) {
      publish(stage, [start, end], { model: directory, texts: texts.length, requests: traces() });
    }
    start = end;
  }
}

/** Publishes the loading of a model without a request. @param startedAt by `performance.now`. */
export function traceLoad(directory: string, startedAt: number, ms: number): void {
  if (!isObserved(stages.load)) return;
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
