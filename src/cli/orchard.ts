import { Argument, CommanderError, Option, Command as Parser } from 'commander';
import {
  DatasetError,
  describeDatasetProblem,
  inMessage,
  isError,
  isOrchardError,
  type OptionNames,
  type OrchardError,
  toOrchardError,
  ValidationError,
} from '../contract/index.js';
import { version } from '../system/index.js';
import { type Command, flagsOf, isOption, type Parameter, UsageError } from './command.js';
import { commands } from './commands.js';
import { Output, type Terminal, write } from './terminal.js';

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
  const flags = flagsOf(command, given);
  output.inFlags = (message) => inMessage(message, flags);
  output.messageOf = (error) => output.inFlags(withFlags(error, flags).message);
  try {
    await command.run?.({ given, terminal, output });
    await output.end();
    return output.hasFailed ? FAILED : 0;
  } catch (thrown) {
    if (output.closed.aborted) return output.hasFailed ? FAILED : 0; // that the reader of the results has gone is none
    return reportFailure(isOrchardError(thrown) ? withFlags(thrown, flags) : thrown, path, output);
  }
}

/** The same error, with flags in place of options. */
function withFlags(error: OrchardError, flags: OptionNames): OrchardError {
  if (error.code === 'validation') {
    return new ValidationError(
      error.problems.map(({ loc, msg, type }) => {
        const [first, second] = loc.map(String);
        const flag = first === 'columns' ? flags(`${first}.${second}`, undefined) : undefined;
        const own = first === undefined ? [] : [flags(first, undefined) ?? first, ...loc.slice(1)];
        return { loc: flag === undefined ? own : [flag, ...loc.slice(2)], msg: inMessage(msg, flags), type };
      }),
    );
  }
  if (error.code !== 'dataset') return error;
  const problems = error.problems.map((each) => ({ ...each, expected: inMessage(each.expected, flags) }));
  return new DatasetError(problems, error.total);
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
  const words = problems === undefined ? output.inFlags : (same: string) => same; // problems have their flags already
  output.warn(output.isJson ? asJson(error.code, words(messageOf(error)), problems) : words(linesOf(error)));
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
  if (!isError(cause) || !('code' in cause)) return message;
  const words = fileProblems[String(cause.code)];
  const [start, end] = message.replace(`Error: ${cause.message}`, cause.message).split(cause.message);
  if (words === undefined || end === undefined) return message;
  const path = 'path' in cause && !start?.includes(String(cause.path)) ? `${cause.path}: ` : '';
  return `${start}${path}${words}${end}`;
}

export interface Call {
  readonly command: Command;
  /** `orchard models pull` */
  readonly path: string;
  readonly given: Readonly<Record<string, unknown>>;
}

export const commonOptions = {
  json: { usage: '--json', description: 'print results and failures as JSON, one value per line' },
  help: { usage: '-h, --help', description: 'show help' },
} as const;

const SUMMARY = 'Train and run text models: classify texts, find entities, search passages.';
const DETAILS = `
Results go to standard output, everything else to standard error.
Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.`;

/** Characters per line of help that does not go to a terminal. */
const HELP_WIDTH = 100;
const MIN_WIDTH = 20;

export function programOf(
  commands: readonly Command[],
  version: string,
  { stdout, stderr }: Terminal,
  called: (call: Call) => void,
): Parser {
  const program = new Parser('orchard')
    .description(SUMMARY)
    .version(version, '-V, --version', 'show the version')
    .helpOption(commonOptions.help.usage, commonOptions.help.description)
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', DETAILS)
    .configureHelp({ minWidthToWrap: MIN_WIDTH })
    .configureOutput({
      writeOut: (text) => void write(stdout, text),
      writeErr: (text) => void write(stderr, text),
      getOutHelpWidth: () => stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => stderr.columns ?? HELP_WIDTH,
    })
    .showHelpAfterError('(see orchard --help)')
    .exitOverride();
  for (const command of commands) add(program, command, called);
  return program;
}

function add(parent: Parser, command: Command, called: (call: Call) => void): void {
  const { name, summary, details, parameters, isDefault = false } = command;
  const parser = parent.createCommand(name).copyInheritedSettings(parent).description(summary);
  const path = pathOf(parser, parent);
  parent.addCommand(parser, { isDefault });
  const all = Object.values(parameters);
  for (const each of all.filter((parameter) => !isOption(parameter))) parser.addArgument(argumentOf(each));
  if (command.run) {
    for (const each of all.filter(isOption)) parser.addOption(optionOf(each));
    parser.addOption(optionOf(commonOptions.json));
    parser.action(() => called({ command, path, given: givenTo(parser) }));
  }
  if (details !== undefined) {
    parser.addHelpText('after', ({ error }) => {
      const { getOutHelpWidth, getErrHelpWidth } = parser.configureOutput();
      const width = (error ? getErrHelpWidth : getOutHelpWidth)?.() ?? HELP_WIDTH;
      return `\n${wrapped(details, width)}`;
    });
  }
  parser.showHelpAfterError(`(see ${path} --help)`);
  for (const each of command.commands ?? []) add(parser, each, called);
}

type Documented = Pick<Parameter, 'usage' | 'description' | 'choices'>;

function argumentOf({ usage, description, choices }: Documented): Argument {
  const argument = new Argument(usage, description);
  return choices === undefined ? argument : argument.choices(choices);
}

function optionOf({ usage, description, choices }: Documented): Option {
  const option = new Option(usage, description);
  return choices === undefined ? option : option.choices(choices);
}

function givenTo(parser: Parser): Readonly<Record<string, unknown>> {
  const processed: readonly unknown[] = parser.processedArgs;
  const positional = parser.registeredArguments.map((argument, at) => [argument.name(), processed[at]] as const);
  return { ...parser.opts(), ...Object.fromEntries(positional) };
}

function pathOf(parser: Parser, parent: Parser | null = parser.parent): string {
  return parent === null ? parser.name() : `${pathOf(parent)} ${parser.name()}`;
}

/** Paragraphs as lines that fit. Indented lines are examples and stay as they are. */
function wrapped(details: string, width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const written of [...details.split('\n'), '']) {
    const isProse = written !== '' && !written.startsWith(' ');
    for (const word of isProse ? written.split(' ') : []) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(line);
        line = '';
      }
      line += line === '' ? word : ` ${word}`;
    }
    if (isProse) continue;
    if (line !== '') lines.push(line);
    line = '';
    lines.push(written);
  }
  return lines.join('\n').trimEnd();
}
