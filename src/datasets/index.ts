export {
  type ArchiveConfig,
  archiveConfigSchema,
  findConfiguredFile,
  findDataFile,
  readArchiveConfig,
  splitFilesSchema,
} from './archive-config.js';
export {
  type ArchiveFile,
  type ArchiveFolder,
  archiveFile,
  CONFIG_FILE,
  openArchive,
} from './archive-folder.js';
export {
  DEFAULT_MAX_ARCHIVE_BYTES,
  DEFAULT_MAX_ARCHIVE_ENTRIES,
  DEFAULT_MAX_UNZIPPED_BYTES,
  MAX_LABELS,
  MAX_PASSAGES,
  MAX_TAGS,
} from './archive-limits.js';
export {
  DEFAULT_DOWNLOAD_TIMEOUT_MS,
  type FetchDatasetOptions,
  type FetchedDataset,
  fetchDataset,
} from './fetch-dataset.js';
export { fileKind, ZIP } from './file-kind.js';
export { type JsonFile, type JsonMember, jsonValue, readJsonFile } from './json-file.js';
export { LABEL_FILE, readLabelIds } from './label-ids.js';
export { count, counted, describeBytes, ProblemList, quoted, singleProblem, someOf } from './problems.js';
export { type Columns, columnsSchema, isRowFile, type RowFileOptions, readRowFile } from './row-file.js';
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
  readRowsInMemory,
  rowShapes,
  type TaggedRow,
  type TrainingRow,
} from './rows.js';
export { byIndex, checkIndices } from './string-indices.js';
export {
  type BrokenCells,
  type Cells,
  CsvReader,
  type RecordFile,
  readTable,
  type SourceFormat,
} from './tables.js';
export { type BrokenLine, linesOf, readLines, readText, type TextLine } from './text-lines.js';
export { type UnzipOptions, unzip } from './unzip.js';
export {
  type DatasetLocation,
  type DatasetWarning,
  type DatasetWarningKind,
  MAX_WARNING_EXAMPLES,
  warnAbout,
} from './warnings.js';
export { writeZip, type ZipContent } from './write-zip.js';
