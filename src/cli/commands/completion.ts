import type { CommandDefinition } from '../command-definition.js';
import { shells } from '../completion/shells.js';

export const completionDefinition: CommandDefinition = {
  name: 'completion',
  summary: "print what makes a shell complete orchard's commands and options",
  details: `  bash: orchard completion bash > ~/.local/share/bash-completion/completions/orchard
  zsh:  orchard completion zsh > ~/.zfunc/_orchard       (with fpath+=~/.zfunc before compinit)
  fish: orchard completion fish > ~/.config/fish/completions/orchard.fish`,
  arguments: [{ usage: '<shell>', description: 'which one', choices: shells }],
  run: async (run) => (await import('../actions/completion.js')).completion(run),
};
