import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../src/storage/index.js';

describe('memoryStorage', () => {
  it('shares nothing with another memory storage', async () => {
    const [one, other] = [memoryStorage(), memoryStorage()];
    await one.write('jobs', 'a', 1, undefined);
    expect(await other.read('jobs', 'a')).toBeUndefined();
    expect(await one.stageFolder('m')).not.toBe(await other.stageFolder('m'));
    await Promise.all([one.close(), other.close()]);
  });

  it('removes its folders from the disk when closed', async () => {
    const storage = memoryStorage();
    const directory = await storage.stageFolder('m');
    expect(existsSync(directory)).toBe(true);
    await storage.close();
    expect(existsSync(directory)).toBe(false);
  });

  it('removes its folders from the disk when the process exits without closing it', () => {
    const script = fileURLToPath(new URL('./processes/stage-and-exit.ts', import.meta.url));
    const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', script], { encoding: 'utf8' });
    const { directory, existed } = JSON.parse(stdout);
    expect(existed).toBe(true);
    expect(existsSync(directory)).toBe(false);
  });
});
