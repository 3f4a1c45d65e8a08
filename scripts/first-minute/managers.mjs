/** How each package manager installs the tarballs without scripts, and how README's commands are said with it. */
export const MANAGERS = {
  npm: {
    files: {},
    install: (tarballs) => ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs],
    run: (command) => ['npx', '--yes', ...command],
  },
  pnpm: {
    files: {},
    install: (tarballs) => ['pnpm', 'add', '--ignore-scripts', 'tsx', ...tarballs],
    run: (command) => ['pnpm', 'exec', ...command],
  },
  yarn: {
    // As docs/install.md says, for Plug'n'Play.
    files: { '.yarnrc.yml': 'enableScripts: false\n', 'yarn.lock': '' },
    manifest: {
      type: 'module',
      dependenciesMeta: { 'onnxruntime-node': { unplugged: true } },
    },
    install: (tarballs) => ['yarn', 'add', 'tsx', ...tarballs],
    run: (command) => ['yarn', ...command],
  },
};
