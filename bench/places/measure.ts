import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { productionPackages } from '../../scripts/production-packages.mjs';

/** A kind of process that an application may live in. */
export interface Place {
  /** Runs a program in JavaScript; its path and arguments follow. `{data}` is the folder to write to, here and in `env`. */
  readonly command: readonly string[];
  /** Replaces variables of the environment; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether it has a root of its own, with the application at /application and the folder to write to at /data. */
  readonly isApart?: boolean;
}

export interface Outcome {
  readonly step: string;
  readonly error?: { readonly code: string; readonly message: string };
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const LIMIT_MS = 300_000;

/** Copies what an application with the library and its models has, and the program, so that any user may read it. */
export async function makeApplication(folder: string): Promise<string> {
  const modules = join(folder, 'node_modules');
  const packages = productionPackages(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')));
  for (const path of packages.keys()) {
    if (path.slice('node_modules/'.length).includes('/node_modules/')) continue; // comes along with the outer one
    await cp(join(root, path), join(folder, path), { recursive: true, dereference: true });
  }
  await cp(join(root, 'dist'), join(modules, 'orchard-nlp', 'dist'), { recursive: true });
  await cp(join(root, 'package.json'), join(modules, 'orchard-nlp', 'package.json'));
  for (const name of ['package.json', 'catalogue', 'backbones'])
    await cp(join(root, 'models', name), join(modules, 'orchard-nlp-models', name), { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const program = join(folder, 'program.mjs');
  await cp(join(root, 'bench', 'places', 'program.mjs'), program);
  return program;
}

/** What each step of the program came to, whether it ended on its own, and what a command of the library came to. */
export async function outcomesIn(place: Place, program: string, folder: string): Promise<readonly Outcome[]> {
  const [own, data] = place.isApart ? ['/application', '/data'] : [dirname(program), folder];
  const filled = (word: string) => word.replaceAll('{data}', folder);
  const inFolder: Place = {
    command: place.command.map(filled),
    env: Object.fromEntries(Object.entries(place.env ?? {}).map(([name, value]) => [name, value && filled(value)])),
  };
  const ran = await run(inFolder, [join(own, basename(program)), data]);
  const steps = ran.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"step"'))
    .map((line): Outcome => JSON.parse(line));
  const command = join(own, 'node_modules', 'orchard-nlp', 'dist', 'orchard.js');
  const asked = await run(inFolder, [command, 'predict', 'sentiment-classification', 'It works perfectly.']);
  const isAnswered = asked.stdout.startsWith('positive');
  return [...steps, ended('end', ran, true), ended('orchard predict', asked, isAnswered)];
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run({ command: [file = '', ...args], env }: Place, words: readonly string[]): Promise<Ran> {
  const child = spawn(file, [...args, ...words], {
    cwd: '/',
    env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', NODE_NO_WARNINGS: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (stdout += piece));
  child.stderr.on('data', (piece: Buffer) => (stderr += piece));
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

function ended(step: string, { code, stderr }: Ran, isAnswered: boolean): Outcome {
  if (code === 0 && isAnswered && stderr === '') return { step };
  return { step, error: { code: `exit ${code}`, message: stderr.trim().slice(0, 600) } };
}
