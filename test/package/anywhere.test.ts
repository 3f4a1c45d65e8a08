import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findRuntime } from '../../bench/runtimes.js';
import { type LabelAnswer, loadModel } from '../../src/index.js';
import { aBrowser, accessibilityProblems, executable, openPage } from '../http/a-browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { installProject, root, runScripts } from './install.js';
import { askWorker, builtPage, type ServedPage, servePage } from './web-page.js';

/** The projects of examples/ that run a model with `orchard-nlp/web`, where onnxruntime-node can't run. */

const texts = ['Works perfectly, I love it!', 'Broke at once, and nobody answers.', 'It is what it is. 😀 naïve café'];
let expected: readonly LabelAnswer[];
beforeAll(async () => {
  await using model = (await loadModel('sentiment-classification'))._unsafeUnwrap();
  expected = (await model.predict(texts))._unsafeUnwrap();
});

/** Same labels in the same order, with probabilities within 5e-3. */
function expectSame(answers: readonly unknown[]): void {
  const near = ({ scores, ...answer }: LabelAnswer) => ({
    ...answer,
    score: expect.closeTo(answer.score, 2),
    scores: scores.map(({ label, score }) => ({ label, score: expect.closeTo(score, 2) })),
  });
  expect(answers).toEqual(expected.map(near));
}

/** A copy of a project in which some scripts have run. */
async function built(name: string, ...scripts: readonly string[]): Promise<string> {
  const folder = await installProject(name, temporaryDirectory());
  await runScripts(folder, scripts);
  return folder;
}

describe.skipIf(process.platform === 'win32')('examples/projects', () => {
  describe.skipIf(executable === undefined)('page (in Chromium; CHROMIUM names another than /usr/bin/chromium)', () => {
    let folder: string;
    let browser: Browser;
    let served: ServedPage;
    let cleanUp: () => void;
    beforeAll(async () => {
      const directory = temporaryDirectory((end) => {
        cleanUp = end;
      });
      folder = await builtPage(directory);
      [browser, served] = await Promise.all([aBrowser(), servePage(folder)]);
    });
    afterAll(async () => {
      await browser?.close();
      await served?.stop();
      cleanUp?.();
    });

    /** The page with its model open, and with all of it kept for later. */
    async function aPage(options?: BrowserContextOptions): Promise<Page> {
      const page = await openPage(browser, served.url, options);
      await page.getByText('Ready. This page also works offline.').waitFor();
      return page;
    }

    const answerOf = (page: Page, label: string) => page.locator('output', { hasText: label }).textContent();
    const shown = ({ label, score }: LabelAnswer) => `${label}, ${Math.round(100 * score)}%`;

    it('answers while one types, without a mouse', async () => {
      const page = await aPage();
      const [positive, negative] = expected;
      if (positive === undefined || negative === undefined) throw new Error('no answers');
      await page.locator('#text:focus').waitFor();
      await page.keyboard.type(texts[0] ?? '');
      await page.locator('output', { hasText: shown(positive) }).waitFor();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type(texts[1] ?? '');
      await page.locator('output', { hasText: shown(negative) }).waitFor();
      expect(await page.getByRole('listitem').allInnerTexts()).toHaveLength(2);
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.press('Delete');
      await page.locator('output:empty').waitFor({ state: 'attached' });
    });

    it('has a Web Worker that answers as in Node', async () => {
      const page = await aPage();
      expectSame((await askWorker(page, folder, texts)).answers);
    });

    it('opens again and answers when its server is gone', async () => {
      const own = await servePage(folder);
      onTestFinished(() => own.stop());
      const page = await openPage(browser, own.url);
      await page.getByText('Ready. This page also works offline.').waitFor();
      await own.stop();
      await expect(fetch(own.url)).rejects.toThrow();
      await page.reload();
      await page.keyboard.type('Broke at once');
      expect(await answerOf(page, 'negative')).toMatch(/^negative, \d\d%$/);
      expectSame((await askWorker(page, folder, texts)).answers);
    });

    it('allows no code from strings, in the page or in its worker', async () => {
      const page = await aPage();
      const policies = [
        await page.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content'),
        (await fetch(served.url)).headers.get('content-security-policy'),
      ];
      for (const policy of policies) {
        expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval'");
        expect(policy).not.toMatch(/'unsafe-(?:eval|inline)'/);
      }
    });

    it.each(['light', 'dark'] as const)(
      'fits a narrow screen, and axe finds no fault, in %s colours',
      async (colours) => {
        const page = await aPage({ colorScheme: colours, viewport: { width: 390, height: 844 } });
        expect(await accessibilityProblems(page)).toEqual([]);
        await page.keyboard.type('Works perfectly');
        await answerOf(page, 'positive');
        expect(await accessibilityProblems(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
        expect(await page.evaluate('getComputedStyle(document.activeElement).outlineWidth')).not.toBe('0px');
      },
    );
  });

  it('function is a folder below 20 MB that answers without node_modules', async () => {
    const folder = await built('function', 'model', 'build');
    const alone = join(temporaryDirectory(), 'task');
    await cp(join(folder, 'out'), alone, { recursive: true });
    const sizes = readdirSync(alone).map((name) => statSync(join(alone, name)).size);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(20e6);
    const program = `
      const { handler } = await import('./handler.mjs');
      const replies = [];
      for (const body of ${JSON.stringify([...texts, ' '])}) replies.push(await handler({ body }));
      const body = Buffer.from(${JSON.stringify(texts[0])}).toString('base64');
      replies.push(await handler({ body, isBase64Encoded: true }));
      console.log(JSON.stringify(replies));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: alone,
    });
    const replies: { statusCode: number; body: string }[] = JSON.parse(stdout);
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 400, 200]);
    const bodies = replies.map(({ body }) => JSON.parse(body));
    expectSame(bodies.slice(0, 3));
    expect(bodies[3]).toEqual({ error: expect.stringContaining('blank') });
    expect(bodies[4]).toEqual(bodies[0]);
  });

  const workerd = findRuntime('workerd');
  const title = typeof workerd === 'string' ? `edge (skipped: ${workerd})` : 'edge';
  describe.skipIf(typeof workerd === 'string')(title, () => {
    /** Starts the worker of a built project. @returns the URL that it answers at */
    async function serve(folder: string): Promise<string> {
      if (typeof workerd === 'string') throw new Error(workerd);
      const [program = '', ...args] = workerd.command;
      const flags = ['config.capnp', '--socket-addr=http=127.0.0.1:0', '--control-fd=1'];
      const server = spawn(program, [...args, ...flags], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void server.kill('SIGKILL'));
      const ended = once(server, 'exit').then(([code]) => `ended with ${code}`);
      const line = once(createInterface({ input: server.stdout }), 'line').then(([text]) => String(text));
      const { port } = JSON.parse(await Promise.race([line, ended]));
      return `http://127.0.0.1:${port}/`;
    }

    async function ask(url: string, body: string) {
      const response = await fetch(url, { method: 'POST', body });
      return { status: response.status, answer: await response.json() };
    }

    it('answers in workerd', async () => {
      const url = await serve(await built('edge', 'model', 'build'));
      // The first ones at once, so that they wait for the same model.
      const replies = await Promise.all(texts.map((text) => ask(url, text)));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
      expectSame(replies.map(({ answer }) => answer));
      expect(await ask(url, ' ')).toEqual({ status: 400, answer: { error: expect.stringContaining('blank') } });
      expect((await fetch(url)).status).toBe(405);
    });

    it('says what to pass where kernels are missing, because workerd compiles none', async () => {
      const folder = await installProject('edge', temporaryDirectory());
      const worker = join(folder, 'worker.js');
      writeFileSync(worker, readFileSync(worker, 'utf8').replace('openModel(file, { kernels })', 'openModel(file)'));
      await runScripts(folder, ['model', 'build']);
      writeFileSync(join(folder, 'out', 'kernels.wasm'), readFileSync(join(root, 'dist', 'kernels.wasm')));
      const { status, answer } = await ask(await serve(folder), 'Works perfectly');
      expect(status).toBe(500);
      const advice = 'pass the compiled module as `kernels`';
      expect(answer).toEqual({ error: expect.stringContaining(advice) });
    });
  });

  describe.each([
    ['bun', []],
    ['deno', ['run', '--no-prompt', '--allow-read=.']],
  ] as const)('script', (wanted, flags) => {
    const runtime = findRuntime(wanted);
    if (typeof runtime === 'string') {
      it.skip(`answers (skipped: ${runtime})`, () => undefined);
      return;
    }
    it(`answers in ${runtime.name}`, async () => {
      const folder = await built('script', 'model');
      const [program = ''] = runtime.command;
      const env = { ...process.env, DENO_DIR: join(temporaryDirectory(), 'deno'), DENO_NO_UPDATE_CHECK: '1' };
      const run = (...given: readonly string[]) =>
        promisify(execFile)(program, [...flags, 'label.ts', ...given], { cwd: folder, env });
      const { stdout, stderr } = await run('model.orchard', ...texts);
      expect(stderr).toBe('');
      const lines = stdout.trimEnd().split('\n');
      expect(lines.map((line) => line.split(' ')[0])).toEqual(expected.map(({ label }) => label));
      for (const [at, line] of lines.entries())
        expect(Math.abs(Number(line.split(' ')[1]) - (expected[at]?.score ?? 0))).toBeLessThan(5e-3);
      await expect(run('missing.orchard', 'a text')).rejects.toMatchObject({ code: 1, stderr: /missing\.orchard/ });
    });
  });
});
