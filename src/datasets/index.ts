export {
  type ArchiveConfig,
  type ArchiveFile,
  type ArchiveFolder,
  archiveConfigSchema,
  archiveFile,
  CONFIG_FILE,
  findConfiguredFile,
  findDataFile,
  LABEL_FILE,
  openArchive,
  readArchiveConfig,
  readLabelIds,
  splitFilesSchema,
} from './archive.js';
export { MAX_LABELS, MAX_PASSAGES, MAX_TAGS } from './archive-limits.js';
export { type FetchDatasetOptions, fetchDataset } from './fetch-dataset.js';
export { fileKind, ZIP } from './file-kind.js';
export { byIndex, checkIndices, jsonValue, readJsonFile } from './json-file.js';
export {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  type DatasetWarningKind,
  describeBytes,
  MAX_WARNING_EXAMPLES,
  ProblemList,
  quoted,
  singleProblem,
  someOf,
  warnAbout,
} from './problems.js';
export { type Columns, columnsSchema, isRowFile, readRowFile, readRows } from './row-file.js';
export {
  type CheckedRows,
  type EntityRange,
  type EntityRow,
  fieldsOf,
  invalid,
  type LabelledRow,
  type MultilabelRow,
  placeOfField,
  placeOfRow,
  type QuestionPassageRow,
  type QuestionPassagesRow,
  type RowPlaces,
  type RowShape,
  type Rows,
  type RowsOrPath,
  type RowTable,
  rowShapes,
  type TaggedRow,
  type TrainingRow,
} from './rows.js';
export { type RecordFile, readTable, recordsOf, type SourceFormat } from './tables.js';
export { type BrokenLine, linesOf, readLines, readText, type TextLine } from './text-lines.js';
export { type UnzipOptions, unzip, writeZip } from './zip.js';
