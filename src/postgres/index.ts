export { databaseFailure } from './connection-errors.js';
export { ConnectionPool, type PostgresSource } from './connection-pool.js';
export { Database, type DatabaseOptions } from './database.js';
export { type PostgresQueue, postgresQueue } from './postgres-queue.js';
export { type PostgresStorageOptions, postgresStorage } from './postgres-storage.js';
export { type CalendarPeriod, SharedLimits } from './shared-limits.js';
