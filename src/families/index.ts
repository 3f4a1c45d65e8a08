export type {
  Blend,
  Decoder,
  ExpertFile,
  Family,
  LossTargets,
  PartFigures,
  Scores,
  TargetOptions,
  TaskDescription,
  TrainedExpert,
  TrainingHead,
  TrainingTask,
} from './family.js';
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
