import { Argument, Command, Option } from 'commander';
import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from './command-definition.js';
import type { Terminal } from './terminal.js';

/** A command that was called, and with what. */
export interface Call {
  readonly definition: CommandDefinition;
  /** `orchard models pull` */
  readonly path: string;
  /** Those that it may be given, without dashes. */
  readonly optionNames: readonly string[];
  /** By the names of options and arguments. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** Every command takes these. */
const COMMON: readonly OptionDefinition[] = [
  { flags: '--json', description: 'results as JSON, one value a line; failures too, on standard error' },
];

const SUMMARY = 'Train and run text models: classify texts, find entities, search passages.';
const DETAILS = `
Results go to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 called in a way it can't be, 130 interrupted.`;

/** The parser of a command line. @param called is told which command is to be run */
export function programOf(
  definitions: readonly CommandDefinition[],
  version: string,
  { stdout, stderr }: Terminal,
  called: (call: Call) => void,
): Command {
  const program = new Command('orchard')
    .description(SUMMARY)
    .version(version, '-V, --version', 'prints the version')
    .helpOption('-h, --help', 'tells what a command takes')
    .helpCommand('help [command]', 'the same')
    .addHelpText('after', DETAILS)
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => stderr.columns ?? HELP_WIDTH,
    })
    .exitOverride();
  for (const definition of definitions) add(program, definition, called);
  return program;
}

/** Characters of a line of help that goes to no terminal. */
const HELP_WIDTH = 100;

function add(parent: Command, definition: CommandDefinition, called: (call: Call) => void): void {
  const { name, summary, details, isDefault = false } = definition;
  const command = parent.createCommand(name).copyInheritedSettings(parent).description(summary);
  parent.addCommand(command, { isDefault });
  for (const argument of definition.arguments ?? []) command.addArgument(argumentOf(argument));
  if (definition.run) {
    for (const option of [...(definition.options ?? []), ...COMMON]) command.addOption(optionOf(option));
    const optionNames = command.options.map((option) => option.name());
    command.action(() => called({ definition, path: pathOf(command), optionNames, given: givenTo(command) }));
  }
  if (details !== undefined) command.addHelpText('after', `\n${details}`);
  command.showHelpAfterError(`(${pathOf(command)} --help tells what it takes)`);
  for (const each of definition.commands ?? []) add(command, each, called);
}

function argumentOf({ usage, description, choices }: ArgumentDefinition): Argument {
  const argument = new Argument(usage, description);
  return choices === undefined ? argument : argument.choices(choices);
}

function optionOf({ flags, description, choices }: OptionDefinition): Option {
  const option = new Option(flags, description);
  return choices === undefined ? option : option.choices(choices);
}

/** Values by names as they are typed, without the dashes: `wrong-keys-per-minute`. */
function givenTo(command: Command): Readonly<Record<string, unknown>> {
  const values = command.opts<Record<string, unknown>>();
  const processed: readonly unknown[] = command.processedArgs;
  const options = command.options.map((option) => [option.name(), values[option.attributeName()]] as const);
  const positional = command.registeredArguments.map(
    (argument, at) => [argument.name(), processed[at]] as const,
  );
  return Object.fromEntries([...options, ...positional].filter(([, value]) => value !== undefined));
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}
