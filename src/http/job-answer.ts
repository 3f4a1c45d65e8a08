/** What HTTP callers are told of a job. What is for who runs the service stays with the library. */
import type * as z from 'zod';
import type { DatasetWarning, DatasetWarningKind } from '../datasets/index.js';
import type { OrchardError } from '../errors.js';
import type { JobError, JobInformation } from '../trainer/index.js';
import type { jobSchema } from './schemas.js';

type JobAnswer = z.infer<typeof jobSchema>;

/** The job information; the library's own beside them only where they tell something. */
export function jobAnswer({ model, training_stats, status, created, ...own }: JobInformation): JobAnswer {
  const { error, warnings } = own;
  return {
    ...{ model, training_stats, status, created },
    ...(error && { error: errorAnswer(error) }),
    ...(warnings.length > 0 && { warnings: warnings.map(warningAnswer) }),
  };
}

/** Failures that come of the job itself. All others are the service's: their messages may name its folders. */
const ownFailures: ReadonlySet<string> = new Set<OrchardError['code']>([
  'validation',
  'dataset',
  'download',
  'training',
  'aborted',
]);

/** Of a job that went on when the upload that it trains on had been removed. */
const UPLOAD_GONE = 'the uploaded dataset is no longer there; upload it again for a new job';
const SERVICE_FAILED = 'the service failed; who runs it can read why in the job';

function errorAnswer({ code, message, problems, source }: JobError): JobAnswer['error'] {
  if (!ownFailures.has(code)) return { code, message: SERVICE_FAILED };
  // Callers name no files of the service: it was an upload.
  if (code === 'download' && source === 'file') return { code, message: UPLOAD_GONE };
  return { code, message, ...(problems && { problems: [...problems] }) };
}

/** In place of messages that advise who runs the service. */
const messages: ReadonlyMap<DatasetWarningKind, string> = new Map([
  [
    'no_backbone',
    "there is no backbone for this job's language and size, so training started from random weights; set use_pretrained to false to ask for that",
  ],
  ['device', 'the device that the service trains on failed, so the CPU computed instead'],
]);

function warningAnswer({ kind, count, message }: DatasetWarning) {
  return { kind, count, message: messages.get(kind) ?? message };
}
