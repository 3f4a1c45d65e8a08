import type { ModelReport } from '../model-folder/index.js';

/** What report and card are written from: what the model folder says, and what the job's record adds. */
export interface ReportInput extends ModelReport {
  readonly id?: string;
  /** ISO 8601. */
  readonly created?: string;
}
