import { CommanderError } from 'commander';
import { describeDatasetProblem, type OrchardError, toOrchardError } from '../contract/index.js';
import { version } from '../system/index.js';
import { UsageError } from './command.js';
import { commands } from './commands.js';
import { type Call, programOf } from './program.js';
import { Output, type Terminal } from './terminal.js';

/** The command failed, or some texts had no result. */
const FAILED = 1;
const USAGE_ERROR = 2;
/** What a shell reports for a process that SIGINT ended. */
const INTERRUPTED = 130;

/** The command `orchard`. @returns its exit code: 0 success, 1 failure, 2 usage error, 130 interrupted */
export async function orchard(args: readonly string[], terminal: Terminal = process): Promise<number> {
  const output = new Output(terminal, isJsonWanted(args));
  let call: Call | undefined;
  try {
    const program = programOf(commands, version, terminal, (made) => {
      call = made;
    });
    program.parse(args, { from: 'user' });
  } catch (thrown) {
    return reportFailure(thrown, 'orchard', output);
  }
  return call === undefined ? 0 : run(call, terminal, output);
}

async function run({ command, path, given }: Call, terminal: Terminal, output: Output): Promise<number> {
  try {
    await command.run?.({ given, terminal, output });
    return output.hasFailed ? FAILED : 0;
  } catch (thrown) {
    if (output.closed.aborted) return 0; // the reader of the results has gone: not a failure
    return reportFailure(thrown, path, output);
  }
}

/** Also for a command line that can't be parsed. What follows `--` is not an option. */
function isJsonWanted(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
}

/** Prints on standard error what went wrong. @param path of the command: `orchard train`. @returns the exit code */
function reportFailure(thrown: unknown, path: string, output: Output): number {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return 0; // help or version
    // The parser has printed its message already, but not as JSON.
    if (output.isJson) output.warn(asJson('usage', thrown.message.replace(/^error: /, '')));
    return USAGE_ERROR;
  }
  if (thrown instanceof UsageError) {
    const { message } = thrown;
    output.warn(output.isJson ? asJson('usage', message) : `${path}: ${message}\n(see ${path} --help)`);
    return USAGE_ERROR;
  }
  const error = toOrchardError(thrown, path);
  const problems = error.code === 'dataset' || error.code === 'validation' ? error.problems : undefined;
  output.warn(output.isJson ? asJson(error.code, messageOf(error), problems) : linesOf(error));
  return error.code === 'aborted' ? INTERRUPTED : FAILED;
}

function asJson(code: string, message: string, problems?: readonly unknown[]): string {
  return JSON.stringify({ error: { code, message, ...(problems && { problems }) } });
}

function linesOf(error: OrchardError): string {
  if (error.code !== 'dataset') return messageOf(error);
  const lines = error.problems.map(describeDatasetProblem);
  const isCut = error.total > lines.length;
  return [...lines, ...(isCut ? [`${error.total.toLocaleString('en-US')} problems in total`] : [])].join('\n');
}

const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EISDIR: 'this is a folder; give a file',
  ENOTDIR: 'part of the path is a file, not a folder',
  EACCES: 'permission denied',
  ENOSPC: 'the disk is full',
};

/** The message, with the file system's own words replaced. */
function messageOf({ message, cause }: OrchardError): string {
  if (!(cause instanceof Error) || !('code' in cause)) return message;
  const words = fileProblems[String(cause.code)];
  if (words === undefined) return message;
  const [start, end = ''] = message.replace(`Error: ${cause.message}`, cause.message).split(cause.message);
  const path = 'path' in cause && !start?.includes(String(cause.path)) ? `${cause.path}: ` : '';
  return `${start}${path}${words}${end}`;
}
