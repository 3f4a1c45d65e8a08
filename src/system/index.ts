export { FileLocks, Lock } from './file-locks.js';
export {
  absolutePath,
  beginsAtHome,
  bytesIn,
  CHUNK_BYTES,
  chunksOf,
  contentHash,
  deleteUnseen,
  endOwnerOf,
  ensureDirectory,
  type FileContent,
  type FolderFile,
  failedWith,
  filesIn,
  fileWithin,
  flush,
  flushDirectory,
  flushTree,
  fromHome,
  HOME_HINT,
  inDirectory,
  isPresent,
  KnownHashes,
  missingWriteFlag,
  move,
  moveIfPresent,
  namesIn,
  nearestExisting,
  ownedName,
  ownerOf,
  parseJson,
  readTextIfPresent,
  readWithin,
  replaceFile,
  requirePath,
  sweepTemporaryFiles,
  TemporaryDirectory,
  temporaryRoot,
  unlinkIfPresent,
  unlinkWithEmptyParents,
  writeFailure,
  writeFlushed,
} from './files.js';
export { isInnerName } from './inner-name.js';
export {
  MODELS_VERSION,
  ownFile,
  readManifest,
  requireFor,
  resolvedFrom,
  runtimeVersions,
  startingPoints,
  version,
} from './installation.js';
export {
  either,
  fields,
  filledText,
  flag,
  type JsonProblem,
  type JsonShape,
  listOf,
  nullable,
  number,
  object,
  oneOf,
  pairOf,
  recordOf,
  requireShape,
  type Shaped,
  shaped,
  shortText,
  text,
  whole,
} from './json-shape.js';
export { latePattern } from './late-pattern.js';
export { listAsOfNow, validateWithPauses } from './long-lists.js';
export {
  type DownloadOptions,
  type DownloadProgress,
  download,
  type Fetch,
  fetchText,
  NetworkFailure,
  type RequestOptions,
  type RetryOptions,
  requirePublicHost,
} from './network.js';
export { quantizeRow, type Scored, scoreBelowTop, topScores } from './number-arrays.js';
export { Random } from './numbers.js';
export { onAbort } from './on-abort.js';
export { isInFolder, lostInput } from './overwriting.js';
export {
  filterWithPauses,
  isPauseDue,
  mapSteps,
  mapWithPauses,
  pause,
  runToEnd,
  type Steps,
  withPauses,
} from './pauses.js';
export { publicFetch } from './public-fetch.js';
export { allItems, SourceReader } from './source-reader.js';
export { lockDevice, STOP_SIGNALS, startThread, turnTelemetryOff, warnOnce } from './threads.js';
export { utf8Text } from './utf8.js';
