import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What came of one spoiled folder. */
export interface Attempt {
  readonly seed: number;
  /** The file that was spoiled. */
  readonly file: string;
  /** Of asking it, of reading its report, and of reading it as a backbone: `answered`, or the error's code. */
  readonly outcomes: readonly string[];
  readonly ms: number;
  /** Of the process, afterwards. */
  readonly rssMb: number;
}

/** A mutant that took its process with it, or never came to an end. */
export interface Casualty {
  readonly seed: number;
  /** The file that was spoiled. */
  readonly file: string;
  /** A signal, an exit code, or `hang`. */
  readonly how: string;
}

export interface Trial {
  readonly attempts: readonly Attempt[];
  readonly casualties: readonly Casualty[];
}

const script = fileURLToPath(new URL('./processes/try-folders.ts', import.meta.url));

/** Tries the mutants of these seeds, one after the other, in a process that is replaced where one ends it. */
export async function tryMutants(
  seeds: readonly number[],
  { mutant, bases, hangMs }: { readonly mutant: string; readonly bases: readonly string[]; readonly hangMs: number },
): Promise<Trial> {
  const attempts: Attempt[] = [];
  const casualties: Casualty[] = [];
  let child: ChildProcess | undefined;
  for (const seed of seeds) {
    child ??= await started(mutant, bases);
    const answer = await ask(child, seed, hangMs);
    if ('how' in answer) {
      casualties.push(answer);
      child = undefined;
    } else attempts.push(answer);
  }
  child?.kill('SIGKILL');
  return { attempts, casualties };
}

async function started(mutant: string, bases: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--max-old-space-size=512', '--import', 'tsx', script, mutant, ...bases], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

/** @returns how it ended, where it did. */
function ask(child: ChildProcess, seed: number, hangMs: number): Promise<Attempt | Casualty> {
  return new Promise((resolve) => {
    let file = '';
    const end = (answer: Attempt | Casualty) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(answer);
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      end({ seed, file, how: 'hang' });
    }, hangMs);
    child.on('message', (said: Attempt | Pick<Attempt, 'file'>) => {
      if ('outcomes' in said) end(said);
      else file = said.file;
    });
    child.once('exit', (code, signal) => end({ seed, file, how: signal ?? `exit code ${code}` }));
    child.send(seed);
  });
}
