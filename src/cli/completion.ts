import { type Command, isOption, LONG_FLAG, type Parameter } from './command.js';
import { commands } from './commands.js';
import { commonOptions } from './orchard.js';

export function completionScript(shell: 'bash' | 'zsh' | 'fish'): string {
  return scripts[shell](completedCommands(commands));
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

interface CompletedOption {
  /** `-k`, if there is one. */
  readonly short: string | undefined;
  /** `--top` */
  readonly long: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** The only values allowed; empty for files and free text. */
  readonly choices: readonly string[];
}

interface CompletedCommand {
  /** `models pull` */
  readonly path: string;
  readonly summary: string;
  readonly below: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletedOption[];
  /** Values of its first argument, in addition to files. */
  readonly words: readonly string[];
}

function completedCommands(from: readonly Command[], above = ''): readonly CompletedCommand[] {
  return from.flatMap((each) => {
    const { name, summary, commands: below = [] } = each;
    const path = above === '' ? name : `${above} ${name}`;
    // A command with subcommands takes the options of its default one.
    const { parameters } = below.find(({ isDefault }) => isDefault) ?? each;
    const all = Object.values(parameters);
    const first = all.find((parameter) => !isOption(parameter));
    const completed = {
      path,
      summary,
      below,
      options: [...all.filter(isOption), ...Object.values(commonOptions)].map(completedOption),
      words: [...(first?.choices ?? []), ...(first?.suggestions ?? [])],
    };
    return [completed, ...completedCommands(below, path)];
  });
}

function completedOption({
  usage,
  description,
  choices = [],
}: Pick<Parameter, 'usage' | 'description' | 'choices'>): CompletedOption {
  const short = /(?:^|\s)(-[a-zA-Z])(?:,|\s|$)/.exec(usage)?.[1];
  const long = LONG_FLAG.exec(usage)?.[0] ?? usage;
  return { short, long, description, takesValue: usage.includes('<'), choices };
}

/** Offers our words, otherwise files by bash's own rules. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const top = commands.filter(({ path }) => !path.includes(' ')).map(({ path }) => path);
  const nested = commands.filter(({ below }) => below.length > 0);
  return `# Completes orchard's commands in bash.
_orchard() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${top.join(' ')} help --help --version" -- "$word"))
    return
  fi
  case "$command" in
${nested.map(({ path }) => `    ${path}) [ "$COMP_CWORD" -gt 2 ] && command="$command \${COMP_WORDS[2]}" ;;`).join('\n')}
  esac
  case "$command:$before" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "$command" in
${commands.map(wordCase).join('\n')}
  esac
}
complete -o default -F _orchard orchard
`;
}

function valueCases({ path, options }: CompletedCommand): readonly string[] {
  return options.flatMap((option) => {
    if (!option.takesValue) return [];
    const patterns = namesOf(option).map((name) => `"${path}:${name}"`);
    const reply =
      option.choices.length > 0 ? `COMPREPLY=($(compgen -W "${option.choices.join(' ')}" -- "$word")); ` : '';
    return [`    ${patterns.join('|')}) ${reply}return ;;`];
  });
}

function wordCase({ path, options, words, below }: CompletedCommand): string {
  const names = options.map(({ long }) => long).join(' ');
  const others = [...below.map(({ name }) => name), ...words].join(' ');
  return `    "${path}")
      case "$word" in
        -*) COMPREPLY=($(compgen -W "${names}" -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "${others}" -- "$word")) ;;
      esac ;;`;
}

function namesOf({ short, long }: CompletedOption): readonly string[] {
  return short === undefined ? [long] : [short, long];
}

/** For a file named _orchard in zsh's fpath. */
function zshScript(commands: readonly CompletedCommand[]): string {
  const top = commands.filter(({ path }) => !path.includes(' '));
  const nested = commands.filter(({ below }) => below.length > 0);
  return `#compdef orchard
# Completes orchard's commands in zsh.
_orchard() {
  local command=$words[2]
  if (( CURRENT == 2 )); then
    local -a commands=(
${top.map(({ path, summary }) => `      ${described(path, summary)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case $command in
${nested.map(nestedCase).join('\n')}
  esac
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(argumentsCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _orchard ]]; then _orchard "$@"; else compdef _orchard orchard; fi
`;
}

function nestedCase({ path, below }: CompletedCommand): string {
  return `    ${path})
      if (( CURRENT == 3 )); then
        local -a below=(${below.map(({ name, summary }) => described(name, summary)).join(' ')})
        _describe command below
        return
      fi
      command="$command $words[3]"
      shift words
      (( CURRENT-- )) ;;`;
}

/** Offers our words in addition to files, because either may be typed. */
function argumentsCase({ path, options, words }: CompletedCommand): string {
  const own = words.length > 0 ? `compadd -- ${words.join(' ')}; ` : '';
  const specs = [...options.map(zshOption), zshWord(`*:argument:{${own}_files}`)];
  return `    ${zshWord(path)}) _arguments ${specs.join(' ')} ;;`;
}

function zshOption({ short, long, description, takesValue, choices }: CompletedOption): string {
  const text = `[${description.replaceAll('\\', '\\\\').replaceAll(/[[\]:]/g, (sign) => `\\${sign}`)}]`;
  const value = choices.length > 0 ? `:value:(${choices.join(' ')})` : ':value:_files';
  const spec = `${text}${takesValue ? value : ''}`;
  if (short === undefined) return zshWord(`${long}${spec}`);
  return `${zshWord(`(${short} ${long})`)}{${short},${long}}${zshWord(spec)}`;
}

function described(name: string, summary: string): string {
  return zshWord(`${name}:${summary.replaceAll('\\', '\\\\').replaceAll(':', '\\:')}`);
}

function zshWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const top = commands.filter(({ path }) => !path.includes(' '));
  return [
    "# Completes orchard's commands in fish.",
    ...top.map(
      ({ path, summary }) => `complete -c orchard -n __fish_use_subcommand -f -a ${path} -d ${fishWord(summary)}`,
    ),
    ...commands.flatMap(fishLines),
    '',
  ].join('\n');
}

function fishLines({ path, below, options, words }: CompletedCommand): readonly string[] {
  const condition = path
    .split(' ')
    .map((name) => `__fish_seen_subcommand_from ${name}`)
    .join('; and ');
  const start = `complete -c orchard -n ${fishWord(condition)}`;
  return [
    ...below.map(({ name, summary }) => `${start} -f -a ${name} -d ${fishWord(summary)}`),
    ...(words.length > 0 ? [`${start} -a ${fishWord(words.join(' '))}`] : []),
    ...options.map((option) => `${start} ${fishOption(option)}`),
  ];
}

function fishOption({ short, long, description, takesValue, choices }: CompletedOption): string {
  const parts = [
    ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
    `-l ${long.slice(2)}`,
    ...(takesValue ? ['-r'] : []),
    ...(choices.length > 0 ? [`-f -a ${fishWord(choices.join(' '))}`] : []),
    `-d ${fishWord(description)}`,
  ];
  return parts.join(' ');
}

function fishWord(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
