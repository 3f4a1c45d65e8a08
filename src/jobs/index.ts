export type { JobRecord } from '../trainer/job-record.js';
export { JobRepository } from '../trainer/job-repository.js';
