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

const ORCHARD = 'node_modules/orchard-nlp/dist/orchard.js';

/** How other runtimes do the same. Bun installs, too; what Deno runs, npm has installed. */
export const RUNTIMES = {
  bun: ({ command }) => ({
    files: {},
    install: (tarballs) => [command[0], 'add', '--ignore-scripts', ...tarballs],
    run: (words) => runIn(command, words),
  }),
  deno: ({ command }) => ({ ...MANAGERS.npm, run: (words) => runIn(command, words) }),
};

/** They run TypeScript without tsx. */
function runIn(command, [program, ...words]) {
  return [...command, ...(program === 'tsx' ? [] : [ORCHARD]), ...words];
}
