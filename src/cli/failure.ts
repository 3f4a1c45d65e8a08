import { CommanderError } from 'commander';
import { describeDatasetProblem, type OrchardError, toOrchardError } from '../errors.js';
import type { Output } from './output.js';
import { UsageError } from './usage-error.js';

/** The command could not do what it was asked to. */
export const FAILED = 1;
/** It was called in a way that it can't be. */
export const MISUSED = 2;
/** As a shell counts a process that SIGINT ended. */
export const INTERRUPTED = 130;

/** Where a failure happened, and how it is told. */
interface Telling {
  /** `orchard train`, for instance. */
  readonly doing: string;
  /** Of the command. */
  readonly optionNames: readonly string[];
  readonly output: Output;
  readonly isJson: boolean;
}

/** Says on standard error what went wrong. @returns the exit code */
export function tellFailure(thrown: unknown, telling: Telling): number {
  const { doing, output, isJson } = telling;
  if (thrown instanceof CommanderError) return toldByParser(thrown, output, isJson);
  if (thrown instanceof UsageError) return toldMisuse(thrown, telling);
  const error = toOrchardError(thrown, doing);
  output.warn(isJson ? asJson(error.code, error.message, problemsOf(error)) : inLines(error));
  return error.code === 'aborted' ? INTERRUPTED : FAILED;
}

/** The parser has said it already, but for JSON. */
function toldByParser({ exitCode, message }: CommanderError, output: Output, isJson: boolean): number {
  if (exitCode === 0) return 0;
  if (isJson) output.warn(asJson('usage', message.replace(/^error: /, '')));
  return MISUSED;
}

function toldMisuse(
  { message, problems }: UsageError,
  { doing, optionNames, output, isJson }: Telling,
): number {
  const told = problems.map(
    ({ name, message }) => `${optionNames.includes(name) ? `--${name}` : name}: ${message}`,
  );
  const whole = told.length > 0 ? told.join('; ') : message;
  output.warn(isJson ? asJson('usage', whole) : `${doing}: ${whole}\n(${doing} --help tells what it takes)`);
  return MISUSED;
}

function asJson(code: string, message: string, problems?: readonly unknown[]): string {
  return JSON.stringify({ error: { code, message, ...(problems && { problems }) } });
}

function problemsOf(error: OrchardError): readonly unknown[] | undefined {
  return error.code === 'dataset' || error.code === 'validation' ? error.problems : undefined;
}

/** A line for each problem of a dataset; else the message. */
function inLines(error: OrchardError): string {
  if (error.code !== 'dataset') return error.message;
  const lines = error.problems.map(describeDatasetProblem);
  const isCut = error.total > lines.length;
  return [...lines, ...(isCut ? [`${error.total.toLocaleString('en-US')} problems in all`] : [])].join('\n');
}
