import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { lockDevice, shareDeviceLock } from '../../src/system/threads.js';

it('belong to one at a time, in the order in which they were asked for', async () => {
  const order: string[] = [];
  const first = await lockDevice('webgpu');
  const others = ['second', 'third'].map(async (name) => {
    const done = await lockDevice('webgpu');
    order.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    done();
  });
  order.push('first');
  first();
  await Promise.all(others);
  expect(order).toEqual(['first', 'second', 'third']);
});

it('are shared with threads', async () => {
  shareDeviceLock();
  // A thread sees the same counters as this one: nobody else's turn is under way.
  const program = `
    const { getEnvironmentData, parentPort } = require('node:worker_threads');
    const counters = new Int32Array(getEnvironmentData('orchard-nlp: turns on the device'));
    parentPort.postMessage([Atomics.load(counters, 0), Atomics.load(counters, 1)]);
  `;
  const done = await lockDevice('webgpu');
  const worker = new Worker(program, { eval: true });
  onTestFinished(() => void worker.terminate());
  const [next, served] = await new Promise<number[]>((resolve) => worker.once('message', resolve));
  expect((next ?? 0) - (served ?? 0)).toBe(1);
  done();
});

it('are given up by one who waits while no turn ends for two minutes', async () => {
  const first = await lockDevice('webgpu');
  const times = [0, 119_999, 120_000];
  const now = vi.spyOn(performance, 'now').mockImplementation(() => times.shift() ?? 120_000);
  onTestFinished(() => now.mockRestore());
  await expect(lockDevice('webgpu')).rejects.toMatchObject({ code: 'device', device: 'webgpu', when: 'run' });
  expect(times).toEqual([]);
  for (const done of [first, first]) done(); // also the turn that was given up
  (await lockDevice('webgpu'))();
});
