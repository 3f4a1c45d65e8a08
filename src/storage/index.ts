export { checkCollection, checkKey, checkLimit } from './check-arguments.js';
export { encodeFileName } from './file-name.js';
export { fileStorage } from './file-storage.js';
export { DEFAULT_LIMIT } from './listing.js';
export { memoryStorage } from './memory-storage.js';
export { pathOfKey } from './record-path.js';
export * from './storage.js';
export { type CreateStorage, storageContract } from './storage-contract.js';
export { whileDoing } from './storage-failure.js';
