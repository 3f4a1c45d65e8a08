/** `orchard-nlp/postgres`: what lets many processes on many machines work on one PostgreSQL database. */
export {
  type DatabaseOptions,
  type PostgresSource,
  type PostgresStorageOptions,
  postgresStorage,
} from './postgres/index.js';
