import { command } from '../command.js';
import { choice, required } from '../parameters.js';

export const completionCommand = command({
  name: 'completion',
  summary: 'print a completion script for a shell',
  details: `  bash: orchard completion bash > ~/.local/share/bash-completion/completions/orchard
  zsh:  orchard completion zsh > ~/.zfunc/_orchard       (with fpath+=~/.zfunc before compinit)
  fish: orchard completion fish > ~/.config/fish/completions/orchard.fish`,
  parameters: { shell: required(choice('<shell>', 'name of the shell', ['bash', 'zsh', 'fish'])) },
  async run({ settings: { shell }, output }) {
    const { completionScript } = await import('../completion.js');
    const script = completionScript(shell);
    if (output.isJson) await output.result({ shell, script }, []);
    else await output.write(script);
  },
});
