import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { JobInformation, TrainingEvent } from '../trainer/index.js';
import type { HandlerEnvironment } from './environment.js';
import type { JobProgress, JobStreamEvent } from './job-stream-event.js';
import { refusalOf } from './refusal.js';
import type { TrainerService } from './services.js';
import { documented } from './trainer-operations.js';

/** How often a comment is sent. Proxies cut connections that are silent for some time, commonly 60 s. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ': still here\n\n';

/**
 * A job as server-sent events, until it has ended or the client has gone. Every connection begins with the whole state,
 * so a client that comes again misses nothing.
 */
export function jobStream(
  context: Context<HandlerEnvironment>,
  trainer: TrainerService,
  id: string,
): Response {
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const heartbeat = setInterval(() => void stream.write(HEARTBEAT), HEARTBEAT_MS);
    try {
      for await (const { event, data } of jobEvents(trainer, id, gone.signal)) {
        await stream.writeSSE({ event, data: JSON.stringify(data) });
      }
    } finally {
      clearInterval(heartbeat);
    }
  });
}

async function* jobEvents(
  trainer: TrainerService,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  try {
    yield* watched(trainer, id, signal);
  } catch (thrown) {
    const { detail } = refusalOf(toOrchardError(thrown, `watching training job ${id}`), places);
    yield {
      event: 'failed',
      data: { detail: detail.map(({ loc, ...rest }) => ({ loc: [...loc], ...rest })) },
    };
  }
}

const places = { input: 'query', subject: ['path', 'model_id'] } as const;

/** @throws OrchardError */
async function* watched(
  trainer: TrainerService,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  let job = await readJob(trainer, id);
  for await (const event of trainer.watch(id, { signal })) {
    if (event.type === 'progress') {
      yield { event: 'progress', data: progressOf(event) };
      continue;
    }
    // An event may come before the record tells of it, but a state never does.
    if (event.type === 'state') job = await readJob(trainer, id);
    else if (event.type === 'epoch') job = { ...job, training_stats: event.stats };
    else if (event.type === 'warnings') job = { ...job, warnings: [...job.warnings, ...event.warnings] };
    else continue;
    yield { event: 'job', data: documented(job) };
  }
}

/** @throws OrchardError */
async function readJob(trainer: TrainerService, id: string): Promise<JobInformation> {
  const job = await trainer.getTrainingJob(id);
  return job.match(
    (found) => found,
    (error: OrchardError) => {
      throw error;
    },
  );
}

type ProgressEvent = Extract<TrainingEvent, { type: 'progress' }>;

function progressOf({ phase, fraction, epoch, epochs, step, steps, ...event }: ProgressEvent): JobProgress {
  return {
    ...{ phase, fraction, epoch, epochs, step, steps },
    ...(event.loss !== undefined && { loss: event.loss }),
    ...(event.remainingMs !== undefined && { remaining_ms: event.remainingMs }),
  };
}
