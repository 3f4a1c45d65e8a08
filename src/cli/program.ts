import { Argument, Option, Command as Parser } from 'commander';
import { type Command, isOption, type Parameter } from './command.js';
import type { Terminal } from './terminal.js';

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
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => stderr.columns ?? HELP_WIDTH,
    })
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
