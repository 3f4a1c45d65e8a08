export type { PostgresSource } from './connection-pool.js';
export { Database, type DatabaseOptions } from './database.js';
