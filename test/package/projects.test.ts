import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { installProject, projects, root } from './install.js';

/**
 * The projects of examples/: applications of their own, with the built package and what it depends on beside them.
 * anywhere.test.ts runs those with `orchard-nlp/web`.
 */

const names = readdirSync(projects);

const installed = (name: string) => installProject(name, temporaryDirectory());

/** Runs a script in its project's folder. @returns what it prints */
async function run(cwd: string, args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(process.execPath, args, { cwd });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

describe('examples/projects', () => {
  it.each(names)('%s asks for the versions that lie here, and says how it is started', (name) => {
    const read = (...path: string[]) => JSON.parse(readFileSync(join(root, ...path), 'utf8'));
    const { dependencies: forUse, devDependencies } = read('examples', 'projects', name, 'package.json');
    const dependencies = { ...forUse, ...devDependencies };
    const library = read('package.json');
    expect(dependencies['orchard-nlp']).toBe(`^${library.version}`);
    expect(dependencies['orchard-nlp-models']).toBe(`^${read('models', 'package.json').version}`);
    for (const tool of ['fastify', 'esbuild'])
      if (dependencies[tool]) expect(dependencies[tool]).toBe(library.devDependencies[tool]);
    expect(readFileSync(join(projects, name, 'README.md'), 'utf8')).toContain('npm install --ignore-scripts');
  });

  it('fastify learns a CSV file of three labels and serves answers, in 15 lines at most', async () => {
    const lines = readFileSync(join(projects, 'fastify', 'server.mjs'), 'utf8').split('\n');
    expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(15);
    const cwd = await installed('fastify');
    const env = { ...process.env, PORT: '0' };
    const server = spawn(process.execPath, ['server.mjs'], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    const address = once(createInterface({ input: server.stdout }), 'line').then(([line]) => String(line));
    const ended = once(server, 'exit').then(([code]) => `ended with ${code}`);
    const url = await Promise.race([address, ended]);
    expect(url).toMatch(/^http:/);
    const ask = async (text: string) => (await fetch(`${url}/classify?text=${encodeURIComponent(text)}`)).json();
    expect(await ask('I was charged twice for the same invoice')).toMatchObject({ label: 'billing' });
    expect(await ask('The parcel never arrived')).toMatchObject({ label: 'delivery', kind: 'labels' });
    expect(await (await fetch(`${url}/classify`)).json()).toEqual({ error: 'give ?text=…' });
  }, 300_000);

  it('command marks lines, in their order', async () => {
    const cwd = await installed('command');
    const input = 'It broke at once and nobody helps.\n\nI love it, works perfectly.\nAwful, never again.\n';
    const stdout = await run(cwd, ['triage.mjs', '--only', 'negative'], input);
    const marked = stdout.trimEnd().split('\n');
    expect(marked.map((line) => line.split('\t')[2])).toEqual([
      'It broke at once and nobody helps.',
      'Awful, never again.',
    ]);
  });

  it('notes finds the paragraph that answers, and says where none does', async () => {
    const cwd = await installed('notes');
    expect(await run(cwd, ['find.mjs', 'Where is the spare key?'])).toMatch(
      /^[01]\.\d\d house\.md\n {2}The spare key hangs behind/,
    );
    expect(await run(cwd, ['find.mjs', 'Who won the world cup?'])).toBe('Your notes do not say.\n');
  });

  it('next has a route that answers', async () => {
    const cwd = await installed('next');
    const route = pathToFileURL(join(cwd, 'app', 'api', 'ask', 'route.js')).href;
    const request = "new Request('http://next/api/ask?text=Works+perfectly')";
    const program = `const { GET } = await import('${route}');\nconsole.log(await (await GET(${request})).text());\nprocess.exit();`;
    writeFileSync(join(cwd, 'ask.mjs'), program);
    const stdout = await run(cwd, ['ask.mjs']);
    expect(JSON.parse(stdout)).toMatchObject({ labels: ['positive', 'negative'] });
  });
});
