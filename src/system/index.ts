export { takeDeviceTurn } from './device-turns.js';
export { type DownloadOptions, type DownloadProgress, download } from './download.js';
export {
  deleteUnseen,
  ensureDirectory,
  failedWith,
  flushDirectory,
  flushTree,
  inDirectory,
  isPresent,
  move,
  moveIfPresent,
  namesIn,
  parseJson,
  type ReplaceOptions,
  readTextIfPresent,
  replaceFile,
  unlinkIfPresent,
  unlinkWithEmptyParents,
  writeFlushed,
} from './durable-files.js';
export { FileLocks, Lock } from './file-locks.js';
export { fileWithin, isInnerName, readWithin } from './file-within.js';
export {
  CHUNK_BYTES,
  chunksOf,
  contentHash,
  type FileContent,
  type FolderFile,
  filesIn,
  KnownHashes,
} from './folder-content.js';
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
export { MODELS_VERSION, readManifest } from './models-manifest.js';
export { NetworkFailure } from './network-failure.js';
export { ownFile, requireFor, resolvedFrom, startingPoints } from './own-files.js';
export { endOwnerOf, ownedName, ownerOf } from './owned-name.js';
export {
  allAtOnce,
  isPauseDue,
  mapSteps,
  pacedFilter,
  pacedMap,
  pause,
  type Steps,
  withPauses,
} from './pauses.js';
export { publicFetch } from './public-fetch.js';
export { Random } from './random.js';
export { type Fetch, fetchText, type RequestOptions, type RetryOptions } from './request.js';
export { requirePublicHost } from './require-public-host.js';
export { roundRow } from './round-row.js';
export { turnTelemetryOff } from './runtime-telemetry.js';
export { startThread } from './start-thread.js';
export { sweepTemporaryFiles, TemporaryDirectory } from './temporary-directory.js';
export { type Scored, scoreBelowTop, topScores } from './top-scores.js';
export { runtimeVersions, version } from './versions.js';
