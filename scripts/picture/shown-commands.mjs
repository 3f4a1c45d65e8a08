/** The commands of README's block that begins by training: each line is one. */
export function shownCommands(readme) {
  const [, block = ''] = /```sh\n(npx orchard train [\s\S]*?)```/.exec(readme) ?? [];
  return block.trimEnd().split('\n');
}
