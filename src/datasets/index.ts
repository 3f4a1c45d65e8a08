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
export {
  type FetchDatasetOptions,
  fetchDataset,
  fileKind,
  partialPath,
  type UnzipOptions,
  unzip,
  writeZip,
  ZIP,
} from './archive-file.js';
export { MAX_LABELS, MAX_PASSAGES, MAX_TAGS } from './archive-limits.js';
export { DIALECTS, type RecordFile, recordsOf, type SourceFormat } from './csv.js';
export { byIndex, checkIndices, readJsonFile } from './json-file.js';
export {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  type DatasetWarningKind,
  describeBytes,
  grouped,
  MAX_WARNING_EXAMPLES,
  ProblemList,
  quoted,
  singleProblem,
  someOf,
  warnAbout,
} from './problems.js';
export {
  type ColumnCell,
  type Columns,
  columnOf,
  isRowFile,
  leftOut,
  type ReadingOptions,
  readingShape,
  readRowFile,
  readRows,
  rowsInUtf16,
} from './read-rows.js';
export { readTexts, type TextLimits } from './read-texts.js';
export {
  arePairs,
  type CheckedRows,
  checkRows,
  type EntityRange,
  type EntityRow,
  fieldsOf,
  invalid,
  type LabelledRow,
  type MultilabelRow,
  placeOfField,
  placeOfRow,
  probableLabels,
  type QuestionPassageRow,
  type QuestionPassagesRow,
  type RowPlaces,
  type RowShape,
  type Rows,
  type RowsOrPath,
  type RowTable,
  rowPlace,
  rowShapes,
  rowsAt,
  rowsOf,
  type SoftLabelRow,
  type TagDoubt,
  type TaggedRow,
  type TrainingRow,
} from './rows.js';
export { COLUMN_NAMES } from './shapes.js';
export { type BrokenLine, linesOf, readLines, readText, type TextLine } from './text-lines.js';
export { isBratFolder } from './text-rows.js';
