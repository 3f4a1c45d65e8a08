export type { Family, LossTargets, Scores, TaskDescription, TrainingHead, TrainingTask } from './family.js';
export {
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  type ClassificationType,
  classificationTypes,
  createClassificationArchive,
  DEFAULT_DEV_FRACTION,
  type RowSource,
  type SourceFile,
  type SourceFormat,
  type SourceRow,
} from './papaya/index.js';
export { familyNamed } from './registry.js';
