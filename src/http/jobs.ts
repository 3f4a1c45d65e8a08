import { clearInterval, setInterval } from 'node:timers';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type * as z from 'zod';
import { type OrchardError, orThrow } from '../contract/index.js';
import type { DatasetWarning, DatasetWarningKind } from '../datasets/index.js';
import type { JobError, JobInformation, TrainingEvent } from '../jobs/index.js';
import { forClients, refusalOf } from './refusal.js';
import type { HandlerEnvironment } from './route.js';
import type { JobProgress, JobStreamEvent, jobSchema } from './schemas.js';
import type { TrainerService } from './services.js';

type JobAnswer = z.infer<typeof jobSchema>;

/** A job as HTTP shows it: without what is only for operators, and with our additions where there is something to say. */
export function jobAnswer({ model, training_stats, status, created, ...own }: JobInformation): JobAnswer {
  const { error, warnings, validation_rows, positive_label } = own;
  return {
    ...{ model, training_stats, status, created },
    ...(validation_rows !== undefined && { validation_rows }),
    ...(positive_label !== undefined && { positive_label }),
    ...(error && { error: errorAnswer(error) }),
    ...(warnings.length > 0 && { warnings: warnings.map(warningAnswer) }),
  };
}

/** Failures of the job itself. Messages of other failures may name folders of the service. */
const ownFailures: ReadonlySet<string> = new Set<OrchardError['code']>([
  'validation',
  'dataset',
  'download',
  'training',
  'aborted',
]);

const UPLOAD_GONE = 'the uploaded dataset no longer exists; upload it again for a new job';
const SERVICE_FAILED = 'the service failed; its operator can find the reason in the job';

function errorAnswer({ code, message, problems, source }: JobError): JobAnswer['error'] {
  if (!ownFailures.has(code)) return { code, message: SERVICE_FAILED };
  // Callers can't name files of the service, so it was an upload.
  if (code === 'download' && source === 'file') return { code, message: UPLOAD_GONE };
  const told = problems?.map((problem) => ({ ...problem, expected: forClients(problem.expected) }));
  return { code, message: forClients(message), ...(told && { problems: told }) };
}

/** Instead of messages with advice for operators, or with options that a request does not have. */
const messages: ReadonlyMap<DatasetWarningKind, string> = new Map([
  [
    'no_backbone',
    "there is no backbone for this job's language and size, so training started from random weights; to train without this warning, set `use_pretrained` to false",
  ],
  [
    'unfamiliar_text',
    'the backbone does not know the language or script of the texts well; set `language` to the language of the texts, or compare with `use_pretrained: false`',
  ],
  ['device', 'the device that the service trains on failed, so the CPU was used instead'],
]);

function warningAnswer({ kind, count, message }: DatasetWarning) {
  return { kind, count, message: messages.get(kind) ?? message };
}

/** How often a comment is sent. Proxies cut silent connections, often after 60 s. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ': still here\n\n';

/**
 * A job as server-sent events, until it has ended or the client has gone. Every connection begins with the whole state,
 * so a client that reconnects misses nothing.
 */
export function jobStream(context: Context<HandlerEnvironment>, trainer: TrainerService, id: string): Response {
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const heartbeat = setInterval(() => void stream.write(HEARTBEAT), HEARTBEAT_MS);
    const send = ({ event, data }: JobStreamEvent) => stream.writeSSE({ event, data: JSON.stringify(data) });
    try {
      for await (const event of watched(trainer, id, gone.signal)) await send(event);
    } catch (thrown) {
      const { detail } = refusalOf(thrown, context.get('route')?.places);
      await send({ event: 'failed', data: { detail: detail.map((each) => ({ ...each, loc: [...each.loc] })) } });
    } finally {
      clearInterval(heartbeat);
    }
  });
}

async function* watched(
  trainer: TrainerService,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<JobStreamEvent, void, undefined> {
  let job = await orThrow(trainer.getTrainingJob(id));
  for await (const event of trainer.watch(id, { signal })) {
    if (event.type === 'progress') {
      yield { event: 'progress', data: progressOf(event) };
      continue;
    }
    // A state is recorded before its event; other events may come before their records.
    if (event.type === 'state') job = await orThrow(trainer.getTrainingJob(id));
    else if (event.type === 'epoch') job = afterEpoch(job, event);
    else if (event.type === 'warnings') job = { ...job, warnings: [...job.warnings, ...event.warnings] };
    else continue;
    yield { event: 'job', data: jobAnswer(job) };
  }
}

function afterEpoch(
  job: JobInformation,
  { stats, rows, positive }: Extract<TrainingEvent, { type: 'epoch' }>,
): JobInformation {
  return {
    ...job,
    training_stats: stats,
    ...(rows !== undefined && { validation_rows: rows }),
    ...(positive !== undefined && { positive_label: positive }),
  };
}

type ProgressEvent = Extract<TrainingEvent, { type: 'progress' }>;

function progressOf({ phase, fraction, epoch, epochs, step, steps, ...event }: ProgressEvent): JobProgress {
  return {
    ...{ phase, fraction, epoch, epochs, step, steps },
    ...(event.loss !== undefined && { loss: event.loss }),
    ...(event.remainingMs !== undefined && { remaining_ms: event.remainingMs }),
  };
}
