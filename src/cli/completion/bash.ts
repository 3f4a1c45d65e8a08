import type { CompletedCommand, CompletedOption } from './completed-commands.js';

/** A script for bash: words of ours where there are any, and files by bash's own rules. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
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
