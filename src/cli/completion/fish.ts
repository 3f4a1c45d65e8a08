import type { CompletedCommand, CompletedOption } from './completed-commands.js';

/** A script for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const top = commands.filter(({ path }) => !path.includes(' '));
  return [
    "# Completes orchard's commands in fish.",
    ...top.map(
      ({ path, summary }) =>
        `complete -c orchard -n __fish_use_subcommand -f -a ${path} -d ${quoted(summary)}`,
    ),
    ...commands.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf({ path, below, options, words }: CompletedCommand): readonly string[] {
  const condition = path
    .split(' ')
    .map((name) => `__fish_seen_subcommand_from ${name}`)
    .join('; and ');
  const start = `complete -c orchard -n ${quoted(condition)}`;
  return [
    ...below.map(({ name, summary }) => `${start} -f -a ${name} -d ${quoted(summary)}`),
    ...(words.length > 0 ? [`${start} -a ${quoted(words.join(' '))}`] : []),
    ...options.map((option) => `${start} ${optionOf(option)}`),
  ];
}

function optionOf({ short, long, description, takesValue, choices }: CompletedOption): string {
  const parts = [
    ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
    `-l ${long.slice(2)}`,
    ...(takesValue ? ['-r'] : []),
    ...(choices.length > 0 ? [`-f -a ${quoted(choices.join(' '))}`] : []),
    `-d ${quoted(description)}`,
  ];
  return parts.join(' ');
}

/** As one word of fish. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
