import type { OptionNames } from '../contract/index.js';
import type { Output, Terminal } from './terminal.js';

/** What a command of `orchard` consists of. A new command is a file in commands/ and a line in commands.ts. */

export interface Parameter<Value = unknown> {
  /**
   * As help shows it. An argument: `<model>` is required, `[model]` is optional, `[texts...]` takes any number. An
   * option: `--port <number>`, `-k, --top <number>`; without a value it is on or off.
   */
  readonly usage: string;
  /** For help, with the default in brackets. */
  readonly description: string;
  readonly choices?: readonly string[];
  /** Values that a shell completes in addition to files; others are allowed too. */
  readonly suggestions?: readonly string[];
  /** The environment variable that sets the option if the command line does not. */
  readonly variable?: string;
  /**
   * The value for the command.
   * @param given as typed: undefined if it was not given, true for an option without a value
   * @throws UsageError
   */
  parse(given: unknown): Value;
}

/** By key: the name of an argument, or that of an option in camel case. */
type Parameters = Readonly<Record<string, Parameter>>;

export type Settings<From extends Parameters> = {
  readonly [Key in keyof From]: ReturnType<From[Key]['parse']>;
};

interface Context {
  readonly terminal: Terminal;
  readonly output: Output;
}

interface Definition<From extends Parameters> {
  readonly name: string;
  readonly summary: string;
  /** More help, printed after the options. Indented lines are examples and keep their line breaks. */
  readonly details?: string;
  readonly parameters: From;
  /** Loads what it needs when it is called, so that help and completion stay fast. */
  readonly run: (context: Context & { readonly settings: Settings<From> }) => Promise<void>;
}

export interface Command extends Omit<Definition<Parameters>, 'run'> {
  /** Subcommands. A command that has any does nothing itself. */
  readonly commands?: readonly Command[];
  /** Whether this subcommand runs if none is named. */
  readonly isDefault?: boolean;
  /** @param given the values as typed, by the keys of the parameters. @throws UsageError, OrchardError */
  readonly run?: (context: Context & { readonly given: Readonly<Record<string, unknown>> }) => Promise<void>;
}

export function command<const From extends Parameters>({ run, ...definition }: Definition<From>): Command {
  return {
    ...definition,
    run: ({ given, terminal, output }) =>
      run({ terminal, output, settings: parse(definition.parameters, given, terminal.env) }),
  };
}

/** Each value is what its parameter's `parse` returns. @throws UsageError that names every wrong parameter */
function parse<From extends Parameters>(
  parameters: From,
  given: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): Settings<From> {
  const values: unknown[][] = [];
  const problems: string[] = [];
  for (const [key, parameter] of Object.entries(parameters)) {
    const { variable } = parameter;
    const fallback = variable === undefined ? undefined : environment[variable] || undefined;
    try {
      values.push([key, parameter.parse(given[key] ?? fallback)]);
    } catch (thrown) {
      if (!(thrown instanceof UsageError)) throw thrown;
      problems.push(`${nameOf(parameter)}: ${thrown.message}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('; '));
  return Object.fromEntries(values);
}

/** `--text2-column` in the usage of an option. */
export const LONG_FLAG = /--[a-z\d-]+/;

/** `--port` of an option, `model` of an argument. */
export function nameOf({ usage }: Parameter): string {
  return LONG_FLAG.exec(usage)?.[0] ?? usage.replace(/[<>[\].]/g, '');
}

export function isOption({ usage }: Parameter): boolean {
  return usage.startsWith('-');
}

/** Options of the library that a command has under another name. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['baseline', 'usual'],
  ['devRows', 'dev'],
  ['folder', 'save'],
  ['k', 'top'],
  ['replacements', 'types'],
]);

/**
 * A command's flags for options in messages: `--max-texts` for `maxTexts`, `--seed 7` for `seed: 7`, `--text-column 'a'`
 * for `columns: { text: 'a' }`.
 * @param typed the values on the command line, which say what `columns` alone means
 */
export function flagsOf({ parameters }: Command, typed: Readonly<Record<string, unknown>>): OptionNames {
  const flagOf = (key: string) => {
    const parameter = Object.hasOwn(parameters, key) ? parameters[key] : undefined;
    return parameter && isOption(parameter) ? nameOf(parameter) : undefined;
  };
  const columnFlags = (columns: string) =>
    [...columns.matchAll(/(\w+): ("(?:[^"\\]|\\.)*"|'[^']*')/g)].map(([, field, column]) => {
      const flag = flagOf(`${field}Column`);
      return flag && `${flag} ${column}`;
    });
  const typedColumns = Object.keys(typed).filter((key) => key.endsWith('Column'));
  return (name, value) => {
    const [option = name, field] = name.split('.');
    if (option === 'columns') {
      if (field !== undefined) return flagOf(`${field}Column`);
      const flags = value === undefined ? typedColumns.map(flagOf) : columnFlags(value);
      if (flags.length === 0 || flags.includes(undefined)) return undefined;
      return flags.join(value === undefined ? ' and ' : ' ');
    }
    const flag = flagOf(OTHER_NAMES.get(name) ?? name);
    if (flag === undefined || value === undefined) return flag;
    if (value.startsWith('{')) return undefined; // no other flag takes an object
    if (value.startsWith('[')) return `${flag} ${value.replaceAll(/[[\]' ]/g, '')}`;
    return /^['"\d]/.test(value) ? `${flag} ${value}` : flag;
  };
}

/** The command line is wrong: exit code 2. The message says what to type instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
