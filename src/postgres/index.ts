export { databaseFailure } from './connection-errors.js';
export { Database, type DatabaseOptions, type PostgresSource } from './database.js';
export { type PostgresQueue, postgresQueue, QueueOnPostgres } from './postgres-queue.js';
export { PostgresStorage, type PostgresStorageOptions, postgresStorage } from './postgres-storage.js';
export { SharedLimits } from './shared-limits.js';
