import type { ArgumentDefinition, CommandDefinition, OptionDefinition } from '../command-definition.js';

/** An option, as a shell completes it. */
export interface CompletedOption {
  /** `-k`, where there is one. */
  readonly short?: string;
  /** `--top` */
  readonly long: string;
  readonly description: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** All that the value may be; none: it is a file or free. */
  readonly choices: readonly string[];
}

/** A command, as a shell completes it. */
export interface CompletedCommand {
  /** `models pull` */
  readonly path: string;
  readonly summary: string;
  /** The commands below it. */
  readonly below: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletedOption[];
  /** What its first argument may be, besides files. */
  readonly words: readonly string[];
}

/** Every command with those below it, each with all that may follow it. */
export function completedCommands(
  definitions: readonly CommandDefinition[],
  above = '',
): readonly CompletedCommand[] {
  return definitions.flatMap((definition) => {
    const { name, summary, commands = [], arguments: [first] = [] } = definition;
    const path = above === '' ? name : `${above} ${name}`;
    // A command that runs none itself takes what the one that is meant takes.
    const own = definition.run ? definition : (commands.find((each) => each.isDefault) ?? definition);
    const command = {
      path,
      summary,
      below: commands.map((each) => ({ name: each.name, summary: each.summary })),
      options: [...(own.options ?? []), ...EVERYWHERE].map(completedOption),
      words: wordsOf(first),
    };
    return [command, ...completedCommands(commands, path)];
  });
}

const EVERYWHERE: readonly OptionDefinition[] = [
  { flags: '--json', description: 'results as JSON' },
  { flags: '-h, --help', description: 'tells what a command takes' },
];

function completedOption({ flags, description, choices = [] }: OptionDefinition): CompletedOption {
  const short = /(?:^|\s)(-[a-zA-Z])(?:,|\s|$)/.exec(flags)?.[1];
  const long = /--[a-z-]+/.exec(flags)?.[0] ?? flags;
  return {
    ...(short !== undefined && { short }),
    long,
    description,
    takesValue: flags.includes('<'),
    choices,
  };
}

function wordsOf(argument: ArgumentDefinition | undefined): readonly string[] {
  return [...(argument?.choices ?? []), ...(argument?.suggestions ?? [])];
}
