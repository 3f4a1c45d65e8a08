import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeApplication, type Outcome, outcomesIn, type Place } from './places/measure.js';
import { machine } from './report.js';
import { findRuntime, ownRuntime, type Runtime } from './runtimes.js';

/**
 * A small program in every kind of process that an application may live in: what works there, and what the library says where
 * it doesn't. Bun, Deno and other versions of Node come from npm. Some places need root on Linux.
 *
 * Usage: `npm run bench -- places [--only <part of a name>]`.
 */

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const workplace = await mkdtemp(join(tmpdir(), 'places-'));
await chmod(workplace, 0o755);
const application = join(workplace, 'application');
const program = await makeApplication(application);

const WRITES = '--allow-fs-write=*';
const PERMISSIONS = ['--permission', '--allow-fs-read=*', WRITES, '--allow-addons', '--allow-worker'];
const nodes = [ownRuntime, ...['node22', 'node24'].map(findRuntime)];
const [, node22, node24] = nodes;
const canIsolate =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0
    ? true
    : 'this needs root and unshare, on Linux';

interface Cell {
  readonly name: string;
  /** Or why it can't be tried. */
  readonly place: Place | string;
}

const cells: Cell[] = [
  ...nodes.map((runtime) => cell(runtime, '')),
  ...nodes.map((runtime) => cell(runtime, ', no code from strings', ['--disallow-code-generation-from-strings'])),
  ...[node22, node24].map((runtime) => cell(runtime, ', --permission', PERMISSIONS)),
  cell(node24, ', --permission and --allow-child-process', [...PERMISSIONS, '--allow-child-process']),
  cell(
    node24,
    ', --permission to write to one folder',
    [...PERMISSIONS.filter((flag) => flag !== WRITES), '--allow-fs-write={data}'],
    {
      TMPDIR: '{data}',
    },
  ),
  isolated(
    'a temporary folder that is not there',
    () => ({ command: [process.execPath], env: { TMPDIR: '/absent' } }),
    true,
  ),
  isolated('read-only root, no /tmp', () => readOnly('shm')),
  isolated('read-only root, no /tmp, TMPDIR=/data', () => readOnly('none', { TMPDIR: '/data' })),
  isolated('read-only root, no /tmp, no /dev/shm', () => readOnly('none')),
  isolated('a user without home', () => ({
    command: ['setpriv', '--reuid=12345', '--regid=12345', '--clear-groups', process.execPath],
    env: { HOME: undefined, USER: undefined, LOGNAME: undefined },
  })),
  cell(findRuntime('bun'), ''),
  cell(findRuntime('deno'), ''),
];

function cell(
  runtime: Runtime | string | undefined,
  suffix: string,
  flags: readonly string[] = [],
  env: Place['env'] = {},
): Cell {
  if (typeof runtime !== 'object') return { name: `a runtime${suffix}`, place: runtime ?? 'not found' };
  return { name: runtime.name + suffix, place: { command: [...runtime.command, ...flags], env } };
}

function isolated(name: string, place: () => Place, isPossible: true | string = canIsolate): Cell {
  return { name, place: isPossible === true ? place() : isPossible };
}

function readOnly(shm: 'shm' | 'none', env: Record<string, string> = {}): Place {
  const script = fileURLToPath(new URL('places/read-only.sh', import.meta.url));
  const command = [
    'unshare',
    '--mount',
    '--propagation',
    'private',
    'sh',
    script,
    application,
    '{data}',
    process.execPath,
  ];
  return {
    command: [...command, shm, join('/node', basename(process.execPath))],
    env: { HOME: '/', ...env },
    isApart: true,
  };
}

const notes: string[] = [];
let steps: readonly string[] | undefined;

console.log(`${machine()}\n`);
for (const { name, place } of cells) {
  if (!name.includes(options.only)) continue;
  if (typeof place === 'string') {
    notes.push(`${name}: left out, ${place}`);
    continue;
  }
  const folder = join(workplace, `data-${notes.length}-${steps?.length ?? 0}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await chmod(folder, 0o777);
  const outcomes = await outcomesIn(place, program, folder);
  steps ??= header(outcomes);
  console.log(`| ${[name, ...outcomes.map(shown)].join(' | ')} |`);
}
console.log(`\n${notes.map((note, at) => `${at + 1}. ${note}`).join('\n')}`);
await rm(workplace, { recursive: true, force: true });

function header(outcomes: readonly Outcome[]): readonly string[] {
  const names = outcomes.map(({ step }) => step);
  console.log(`| place | ${names.join(' | ')} |\n|${'---|'.repeat(names.length + 1)}`);
  return names;
}

/** The number of a note, where there was an error. */
function shown({ error }: Outcome): string {
  if (error === undefined) return 'ok';
  const note = `${error.code}: ${error.message.replaceAll('\n', ' ')}`;
  const known = notes.indexOf(note);
  return known === -1 ? `${error.code} (${notes.push(note)})` : `${error.code} (${known + 1})`;
}
