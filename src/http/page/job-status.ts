import type { TrainingJobStatus } from '../../contract/index.js';

/** Each state with a mark of its own, so that no colour is needed to tell them apart. */
const texts: Readonly<Record<TrainingJobStatus, string>> = {
  CREATED: '○ created',
  QUEUED: '○ queued',
  RUNNING: '▶ running',
  READY: '✓ ready',
  CANCELLED: '■ cancelled',
  DELETED: '■ deleted',
  ERROR: '✕ failed',
};

export function statusText(status: TrainingJobStatus): string {
  return texts[status];
}
