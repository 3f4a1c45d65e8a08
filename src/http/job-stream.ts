import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { TrainingEvent } from '../trainer/index.js';
import type { HandlerEnvironment } from './environment.js';
import { jobAnswer } from './job-answer.js';
import type { JobProgress, JobStreamEvent } from './job-stream-event.js';
import { refusalOf } from './refusal.js';
import { outcomeOf, type TrainerService } from './services.js';

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
    const send = ({ event, data }: JobStreamEvent) => stream.writeSSE({ event, data: JSON.stringify(data) });
    try {
      for await (const event of watched(trainer, id, gone.signal)) await send(event);
    } catch (thrown) {
      const { detail } = refusalOf(thrown, context.get('route')?.places);
      await send({
        event: 'failed',
        data: { detail: detail.map((each) => ({ ...each, loc: [...each.loc] })) },
      });
    } finally {
      clearInterval(heartbeat);
    }
  });
}

/** @throws OrchardError */
async function* watched(
  trainer: TrainerService,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  let job = await outcomeOf(trainer.getTrainingJob(id));
  for await (const event of trainer.watch(id, { signal })) {
    if (event.type === 'progress') {
      yield { event: 'progress', data: progressOf(event) };
      continue;
    }
    // An event may come before the record tells of it, but a state never does.
    if (event.type === 'state') job = await outcomeOf(trainer.getTrainingJob(id));
    else if (event.type === 'epoch') job = { ...job, training_stats: event.stats };
    else if (event.type === 'warnings') job = { ...job, warnings: [...job.warnings, ...event.warnings] };
    else continue;
    yield { event: 'job', data: jobAnswer(job) };
  }
}

type ProgressEvent = Extract<TrainingEvent, { type: 'progress' }>;

function progressOf({ phase, fraction, epoch, epochs, step, steps, ...event }: ProgressEvent): JobProgress {
  return {
    ...{ phase, fraction, epoch, epochs, step, steps },
    ...(event.loss !== undefined && { loss: event.loss }),
    ...(event.remainingMs !== undefined && { remaining_ms: event.remainingMs }),
  };
}
