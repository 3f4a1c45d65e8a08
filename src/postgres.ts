/** `orchard-nlp/postgres`: what lets many processes on many machines work on one PostgreSQL database. */
export type { DatabaseOptions, PostgresSource } from './postgres/index.js';
