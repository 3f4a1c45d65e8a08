/** `orchard-nlp/postgres`: what lets many processes on many machines work on one PostgreSQL database. */
export {
  type DatabaseOptions,
  type PostgresQueue,
  type PostgresSource,
  type PostgresStorageOptions,
  postgresQueue,
  postgresStorage,
} from './postgres/index.js';
