import type { Output } from './output.js';
import type { Terminal } from './terminal.js';

/** An option of a command. */
export interface OptionDefinition {
  /** As help shows them: `--port <number>`, `-k, --top <number>`; without a value it is on or off. */
  readonly flags: string;
  /** With the default in brackets. */
  readonly description: string;
  /** All that it may be. Others are refused. */
  readonly choices?: readonly string[];
}

/** What stands after a command's name. */
export interface ArgumentDefinition {
  /** `<model>` has to be there, `[model]` may be, `[texts...]` are any number. */
  readonly usage: string;
  readonly description: string;
  readonly choices?: readonly string[];
  /** What a shell offers besides files. They are suggestions: others are taken too. */
  readonly suggestions?: readonly string[];
}

/** What a command is run with. */
export interface CommandRun {
  /** What was given, by the names of options and arguments; text as it was typed, checked by the command. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly terminal: Terminal;
  readonly output: Output;
  /** Results are lines of JSON. */
  readonly isJson: boolean;
}

/** A command, as help, completion and the parser know it. Reading it loads nothing that works. */
export interface CommandDefinition {
  readonly name: string;
  /** A line of help. */
  readonly summary: string;
  /** More of it, after the options. */
  readonly details?: string;
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  /** Commands below this one; then it runs none itself. */
  readonly commands?: readonly CommandDefinition[];
  /** Of the commands above it, the one that is meant where none is named. */
  readonly isDefault?: boolean;
  /** @returns the exit code. Loads what it needs when it is called. */
  readonly run?: (run: CommandRun) => Promise<number>;
}
