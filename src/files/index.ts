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
export { FileLocks, type Lock } from './file-locks.js';
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
export { endOwnerOf, ownedName, ownerOf } from './owned-name.js';
export { sweepTemporaryFiles, TemporaryDirectory } from './temporary-directory.js';
