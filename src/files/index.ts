export {
  deleteUnseen,
  ensureDirectory,
  flushDirectory,
  flushTree,
  isPresent,
  move,
  moveIfPresent,
  namesIn,
  readTextIfPresent,
  unlinkIfPresent,
  writeFlushed,
} from './durable-files.js';
export { failedWith } from './failed-with.js';
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
export { inDirectory, unlinkWithEmptyParents } from './nested-directories.js';
export { endOwnerOf, ownedName, ownerOf } from './owned-name.js';
export { parseJson } from './parse-json.js';
export { type ReplaceOptions, replaceFile } from './replace-file.js';
export { sweepTemporaryFiles } from './sweep-temporary-files.js';
export { TemporaryDirectory } from './temporary-directory.js';
