import type { CommandRun } from '../command-definition.js';
import { bashCompletion } from '../completion/bash.js';
import { type CompletedCommand, completedCommands } from '../completion/completed-commands.js';
import { fishCompletion } from '../completion/fish.js';
import { type Shell, shells } from '../completion/shells.js';
import { zshCompletion } from '../completion/zsh.js';
import { definitions } from '../definitions.js';
import { UsageError } from '../usage-error.js';

const writers: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** `orchard completion`: a script for a shell. */
export async function completion({ given, output, isJson }: CommandRun): Promise<number> {
  const shell = shells.find((each) => each === given.shell);
  if (shell === undefined) throw new UsageError(`shell: give one of ${shells.join(', ')}`);
  const script = writers[shell](completedCommands(definitions));
  if (isJson) await output.json({ shell, script });
  else await output.write(script);
  return 0;
}
