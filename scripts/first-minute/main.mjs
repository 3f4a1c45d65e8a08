/**
 * Tries README as a new user would: installs the packed tarballs into an empty folder, saves README's programs, and runs
 * them and its commands; with each Node and package manager that is asked for. Prints a table of what was done and how
 * long it took, as in docs/install.md. Packages come from the registry that npm is set to.
 *
 * Usage: `npm run first-minute -- [--nodes 20,22,24] [--managers npm,pnpm,yarn] [--runtimes bun,deno] [--tarballs release]`.
 * `npm run pack` makes the tarballs. Node's binaries come from the packages `node-<platform>-<arch>`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findRuntime } from '../../bench/runtimes.ts';
import { shownCommands } from '../picture/shown-commands.mjs';
import { MANAGERS, RUNTIMES } from './managers.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { values: options } = parseArgs({
  options: {
    nodes: { type: 'string', default: '20,22,24' },
    managers: { type: 'string', default: 'npm,pnpm,yarn' },
    runtimes: { type: 'string', default: 'bun,deno' },
    tarballs: { type: 'string', default: join(root, 'release') },
  },
});
const tarballs = readdirSync(options.tarballs).filter((name) => name.endsWith('.tgz'));
if (tarballs.length !== 2) throw new Error(`${options.tarballs} does not hold two tarballs: npm run pack`);
const paths = tarballs.map((name) => resolve(options.tarballs, name));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const workplace = mkdtempSync(join(tmpdir(), 'orchard-first-minute-'));
const tools = join(workplace, 'tools');

/** Sample reviews, in the file that README's commands name. */
function reviews() {
  const lines = readFileSync(join(root, 'examples', 'customer-reviews', 'dev.tsv'), 'utf8')
    .trimEnd()
    .split('\n');
  const rows = lines.slice(1).map((line) => line.split('\t'));
  const csv = rows.map(([text, id]) => `"${text.replaceAll('"', '""')}",${id === '1' ? 'positive' : 'negative'}`);
  return `text,label\n${csv.join('\n')}\n`;
}

/** A program that README shows, by its file's name. */
function shownProgram(name) {
  const [, code] = new RegExp(`\`\`\`ts\\n// examples/${name}\\.ts\\n([\\s\\S]*?)\`\`\``).exec(readme) ?? [];
  if (code === undefined) throw new Error(`README does not show ${name}`);
  return code;
}

/** What is typed, with what must be printed. */
const [train, predict, evaluate] = shownCommands(readme).map(wordsOf);
const STEPS = [
  { name: 'first-answer.mts', command: ['tsx', 'first-answer.mts'], prints: /^card_arrival [01]\.\d\d$/m },
  { name: 'train-rows.mts', command: ['tsx', 'train-rows.mts'], prints: /^(posi|nega)tive [01]\.\d\d$/m },
  { name: 'orchard train', command: train, prints: /rows trained on/ },
  { name: 'orchard predict', command: predict, prints: /^(posi|nega)tive\t0\.\d+\tIt works/m },
  { name: 'orchard evaluate', command: evaluate, prints: /^accuracy +[01]\./m },
];

/** The words of a command without its npx, as a shell splits them. */
function wordsOf(line) {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain).slice(1);
}

/** @returns seconds, or what went wrong */
function timed([command, ...args], cwd, env, prints) {
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 1_200_000,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  if (status === 0 && (prints === undefined || prints.test(stdout))) return seconds;
  console.error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return 'fails';
}

function tryNode(node, name) {
  const env = environmentOf(node);
  const version = execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim();
  const manages = execFileSync(name, ['--version'], { env, cwd: workplace, encoding: 'utf8' }).trim();
  return tryOne(`Node ${version.slice(1)}`, `${name} ${manages}`, MANAGERS[name], env);
}

function tryRuntime(name) {
  const runtime = findRuntime(name);
  if (typeof runtime === 'string') return `Left out: ${runtime}`;
  const env = { ...environmentOf(nodes[0]), DENO_DIR: join(workplace, 'deno'), DENO_NO_UPDATE_CHECK: '1' };
  return tryOne(runtime.name, name === 'bun' ? 'bun' : 'npm', RUNTIMES[name](runtime), env);
}

function tryOne(runtime, installer, manager, env) {
  const folder = mkdtempSync(join(workplace, 'application-'));
  const files = { 'reviews.csv': reviews(), 'test.csv': reviews(), ...manager.files };
  for (const program of ['first-answer', 'train-rows']) files[`${program}.mts`] = shownProgram(program);
  files['package.json'] = JSON.stringify({ private: true, ...manager.manifest });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  const took = [timed(manager.install(paths), folder, env)];
  for (const { command, prints } of STEPS) took.push(timed(manager.run(command), folder, env, prints));
  rmSync(folder, { recursive: true, force: true });
  const cells = took.map((each) => (typeof each === 'number' ? each.toFixed(0) : each));
  return `| ${runtime} | ${installer} | ${cells.join(' | ')} |`;
}

/** The asked Node comes first, then the package managers. */
function environmentOf(node) {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?:config_ignore|config_pack|lifecycle|package)/i.test(name),
  );
  const places = [join(tools, `node-${node}`, 'bin'), join(tools, 'node_modules', '.bin')];
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  return {
    ...Object.fromEntries(own),
    PATH: [...places, process.env.PATH].join(delimiter),
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: new URL(registry).hostname,
    YARN_ENABLE_TELEMETRY: '0',
    // Everybody's store is used, but no lock file of the folder above is looked for.
    CI: '',
  };
}

/** Unpacks Node's binary from its package; the package that calls itself `node` does this by an install script. */
function fetchNode(node) {
  const platform = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const target = join(tools, `node-${node}`);
  mkdirSync(target, { recursive: true });
  const pack = ['pack', `${platform}@${node}`, '--silent', '--pack-destination', target];
  const name = execFileSync('npm', pack, { cwd: target, encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', name, '--strip-components=1'], { cwd: target });
}

const nodes = options.nodes.split(',');
const managers = options.managers.split(',');
try {
  for (const node of nodes) fetchNode(node);
  const fetched = [
    'install',
    '--prefix',
    tools,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    'pnpm@10',
    '@yarnpkg/cli-dist@4',
  ];
  execFileSync('npm', fetched, { stdio: ['ignore', 'ignore', 'inherit'] });
  const date = new Date().toISOString().slice(0, 10);
  console.log(`Seconds. ${cpus()[0]?.model}, ${cpus().length} cores, ${date}.\n`);
  console.log(`| runtime | installed by | install | ${STEPS.map(({ name }) => `\`${name}\``).join(' | ')} |`);
  console.log(`|${' --- |'.repeat(STEPS.length + 3)}`);
  for (const node of nodes) for (const name of managers) console.log(tryNode(node, name));
  for (const name of options.runtimes.split(',').filter(Boolean)) console.log(tryRuntime(name));
} finally {
  rmSync(workplace, { recursive: true, force: true });
}
