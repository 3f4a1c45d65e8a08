import { createHash } from 'node:crypto';
import type { ListFilter, ModelType, TrainingJobStatus } from '../contract/index.js';
import type { JobRecord } from './job-record.js';

/**
 * The views of jobs, of which each makes a listing. Jobs that haven't ended share one, as they are few. The
 * others are in one by how they ended (`ready`), and in one by that and their task (`ready-1f3c9a`). The
 * names are short, since a storage's key has at most 200 characters, of which an account and an id take up to
 * 186.
 */
const statusViews: Readonly<Record<TrainingJobStatus, string>> = {
  CREATED: 'open',
  QUEUED: 'open',
  RUNNING: 'open',
  READY: 'ready',
  ERROR: 'error',
  CANCELLED: 'stop',
  DELETED: 'gone',
};
/**
 * Two tasks with the same digits would share views, which would then have more jobs than a filter asks for.
 */
const TASK_DIGITS = 6;

/** The type that stands for a type's task: two types may name one task, and a filter by either finds both. */
export type TaskOf = (type: ModelType) => ModelType;

export type JobFilter = Pick<ListFilter, 'modelType' | 'trainingStatus'>;

/** Jobs that have not ended. */
export const OPEN_VIEW = 'open';

/** The views that a job belongs to. */
export function viewsOf({ status, model_config }: JobRecord, taskOf: TaskOf): string[] {
  const view = statusViews[status];
  return view === OPEN_VIEW ? [view] : [view, byTask(view, taskOf(model_config.type))];
}

/** The views that have all jobs that a filter asks for, and perhaps others, in the order of a job's life. */
export function viewsWith({ modelType, trainingStatus }: JobFilter, taskOf: TaskOf): string[] {
  const views =
    trainingStatus === undefined ? [OPEN_VIEW, 'ready', 'error', 'stop'] : [statusViews[trainingStatus]];
  if (modelType === undefined) return views;
  return views.map((view) => (view === OPEN_VIEW ? view : byTask(view, taskOf(modelType))));
}

/** Whether a filter asks for a job. It gets DELETED jobs only if it names that status. */
export function matches(
  { status, model_config }: JobRecord,
  { modelType, trainingStatus }: JobFilter,
  taskOf: TaskOf,
): boolean {
  const hasStatus = trainingStatus === undefined ? status !== 'DELETED' : status === trainingStatus;
  return hasStatus && (modelType === undefined || taskOf(modelType) === taskOf(model_config.type));
}

function byTask(view: string, task: ModelType): string {
  const digits = createHash('sha256').update(task).digest('hex').slice(0, TASK_DIGITS);
  return `${view}-${digits}`;
}
