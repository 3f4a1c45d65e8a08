export { ConnectionPool, type PostgresSource } from './connection-pool.js';
export { Database, type DatabaseOptions } from './database.js';
export { databaseFailure, isUnavailable } from './database-failure.js';
export { type PostgresQueue, postgresQueue } from './postgres-queue.js';
export { type PostgresStorageOptions, postgresStorage } from './postgres-storage.js';
export { type CalendarPeriod, SharedLimits } from './shared-limits.js';
