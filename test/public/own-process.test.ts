import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadModel, orThrow } from 'orchard-nlp';
import { expect, it, onTestFinished, vi } from 'vitest';

/** Models in a process of their own (`isolation: 'process'`), by the built package. */

/** The processes that are started from now on. */
function startedProcesses(): ChildProcess[] {
  const started: ChildProcess[] = [];
  const note = (message: unknown) => {
    if (message instanceof Object && 'process' in message) started.push(message.process as ChildProcess);
  };
  subscribe('child_process', note);
  onTestFinished(() => void unsubscribe('child_process', note));
  return started;
}

const texts = ['What a wonderful film!', 'The worst evening in years.', 'x'];

it('answer as in the calling thread, several texts and explanations too', async () => {
  const started = startedProcesses();
  await using own = await orThrow(loadModel('sentiment-classification', { isolation: 'process', workers: 1 }));
  await using here = await orThrow(loadModel('sentiment-classification', { isolation: 'inline' }));
  expect(await orThrow(own.predict(texts))).toEqual(await orThrow(here.predict(texts)));
  const [text = ''] = texts;
  expect(await orThrow(own.explain(text))).toEqual(await orThrow(here.explain(text)));
  expect(started).toHaveLength(1);
});

it('answer again after their process was killed; only what it was asked fails', async () => {
  const started = startedProcesses();
  await using model = await orThrow(loadModel('sentiment-classification', { isolation: 'process', workers: 1 }));
  const [child] = started;
  if (child === undefined) throw new Error('no process was started');
  // Stopped, it can't answer before it is killed.
  child.kill('SIGSTOP');
  const send = vi.spyOn(child, 'send');
  const asked = model.predict('a text');
  await vi.waitFor(() =>
    expect(send.mock.calls).toContainEqual([expect.objectContaining({ type: 'run' }), expect.anything()]),
  );
  child.kill('SIGKILL');
  expect((await asked)._unsafeUnwrapErr()).toMatchObject({
    code: 'internal',
    message: 'the inference process ended with SIGKILL',
  });
  expect((await orThrow(model.predict('What a wonderful film!'))).label).toBe('positive');
  expect(started).toHaveLength(2);
});

it('end with the model', async () => {
  const started = startedProcesses();
  const model = await orThrow(loadModel('sentiment-classification', { isolation: 'process', workers: 1 }));
  await model.predict('a text');
  await model.close();
  expect(started[0]).toMatchObject({ exitCode: 0 });
});

const program = fileURLToPath(new URL('../../bench/endings/program.mjs', import.meta.url));

it.each(['load', 'busy'])('let a thread of the application be terminated while it asks (%s)', async (during) => {
  for (const ms of [40, 160]) {
    const child = spawn(process.execPath, [program, during, 'terminate', String(ms), 'process'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = child.stdout.setEncoding('utf8').toArray();
    const [code, signal] = await once(child, 'exit');
    expect(code ?? signal, `after ${ms} ms`).toBe(0);
    expect(await printed).toEqual(['alive\n']);
  }
});
