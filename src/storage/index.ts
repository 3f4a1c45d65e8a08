export { fileStorage } from './file-storage.js';
export { KeyedQueue } from './keyed-queue.js';
export { memoryStorage } from './memory-storage.js';
export { pathOfKey } from './record-files.js';
export {
  asStorageError,
  checkCollection,
  checkKey,
  checkLimit,
  DEFAULT_LIMIT,
  type FolderDescription,
  isStagingLost,
  isTypedError,
  isVersionConflict,
  type JsonValue,
  type ListOptions,
  type NewRecord,
  StagingLost,
  type Storage,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
  type WriteOptions,
  withStorageErrors,
} from './storage.js';
