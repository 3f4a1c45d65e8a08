import type { CompletedCommand, CompletedOption } from './completed-commands.js';

/** A script for zsh, to lie in its fpath as _orchard. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
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

/** The commands below one, until one of them is there. */
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

/** Words of ours are offered beside files: what is typed may be either. */
function argumentsCase({ path, options, words }: CompletedCommand): string {
  const own = words.length > 0 ? `compadd -- ${words.join(' ')}; ` : '';
  const specs = [...options.map(optionSpec), quoted(`*:argument:{${own}_files}`)];
  return `    ${quoted(path)}) _arguments ${specs.join(' ')} ;;`;
}

function optionSpec({ short, long, description, takesValue, choices }: CompletedOption): string {
  const told = `[${description.replaceAll('\\', '\\\\').replaceAll(/[[\]:]/g, (sign) => `\\${sign}`)}]`;
  const value = choices.length > 0 ? `:value:(${choices.join(' ')})` : ':value:_files';
  const spec = `${told}${takesValue ? value : ''}`;
  if (short === undefined) return quoted(`${long}${spec}`);
  return `${quoted(`(${short} ${long})`)}{${short},${long}}${quoted(spec)}`;
}

function described(name: string, summary: string): string {
  return quoted(`${name}:${summary.replaceAll('\\', '\\\\').replaceAll(':', '\\:')}`);
}

/** As one word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
