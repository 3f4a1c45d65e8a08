import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { installProject, runScripts } from './install.js';

/** examples/projects/page, for its tests and for `npm run bench -- browser`. */

/** Installs and builds it. @returns its folder */
export async function builtPage(parent: string): Promise<string> {
  const folder = await installProject('page', parent);
  await runScripts(folder, ['model', 'build']);
  return folder;
}

export interface ServedPage {
  /** Ends with a slash. */
  readonly url: string;
  /** Returns once no request can be answered any more. */
  stop(): Promise<void>;
}

/** Serves what was built, as `npm run preview` does, on a free port. */
export async function servePage(folder: string): Promise<ServedPage> {
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  const env = { ...process.env, NO_COLOR: '1' };
  const server = spawn(process.execPath, [vite, 'preview', '--host', '127.0.0.1', '--port', '0'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(server, 'exit');
  const url = new Promise<string>((resolve) => {
    createInterface({ input: server.stdout }).on('line', (line) => {
      const [found] = /http:\S+/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  const stop = async () => {
    server.kill('SIGKILL');
    await ended;
  };
  const failed = ended.then(() => Promise.reject(new Error('vite preview ended')));
  return { url: await Promise.race([url, failed]), stop };
}

export interface WorkerRun {
  /** Those of `WebModel.predict`. */
  readonly answers: readonly unknown[];
  /** From the start of the worker to its open model. */
  readonly openMs: number;
  /** For all texts, one after another, with the messages to the worker and back. */
  readonly answersMs: number;
}

/** Asks a further worker of the page's own. */
export async function askWorker(page: Page, folder: string, texts: readonly string[]): Promise<WorkerRun> {
  const file = readdirSync(join(folder, 'dist', 'assets')).find((name) => /^worker-.*\.js$/.test(name));
  return page.evaluate<WorkerRun>(`(async () => {
    const start = performance.now();
    const worker = new Worker('assets/${file}', { type: 'module' });
    const said = () => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
    });
    const { error } = await said();
    if (error) throw new Error(error);
    const opened = performance.now();
    const answers = [];
    for (const text of ${JSON.stringify(texts)}) {
      worker.postMessage(text);
      answers.push((await said()).answer);
    }
    const end = performance.now();
    worker.terminate();
    return { answers, openMs: opened - start, answersMs: end - opened };
  })()`);
}
