import { expect, it, onTestFinished, vi } from 'vitest';
import { lockDevice } from '../../src/system/index.js';

it('a turn on the device that was only slow is followed by others, though one has given up', async () => {
  const first = await lockDevice('webgpu');
  const clock = vi.spyOn(performance, 'now');
  onTestFinished(() => clock.mockRestore());
  let now = 0;
  clock.mockImplementation(() => {
    now += 100_000;
    return now;
  });
  await expect(lockDevice('webgpu')).rejects.toThrow(/another thread of this process holds it/);
  clock.mockRestore();
  first();
  const third = await lockDevice('webgpu');
  third();
});
