import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aModelFile } from './telemetry/a-model-file.js';

/**
 * ONNX Runtime with its telemetry on writes to the home folder as soon as there is a session, wherever that is. It knows
 * the machines of continuous integration by their environment, so here processes have next to none.
 */

const script = (name: string) => fileURLToPath(new URL(`telemetry/${name}.mjs`, import.meta.url));

/** What a process of Node leaves in its home folder. */
async function leftAtHome(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const home = join(temporaryDirectory(), 'home');
  mkdirSync(home);
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, ...environment };
  await promisify(execFile)(process.execPath, args, { env });
  return readdirSync(home, { recursive: true }).map(String);
}

describe.runIf(process.platform === 'linux')('the telemetry of ONNX Runtime', () => {
  it('is on by itself, and then writes to the home folder', async () => {
    const left = await leftAtHome([script('compute-without-orchard'), await aModelFile()]);
    expect(left).toContainEqual(expect.stringMatching(/onnxruntime\.db$/));
  });

  it.each<[string, readonly string[], NodeJS.ProcessEnv?]>([
    ['the main thread', ['compute']],
    ['the main thread where the environment asks for it', ['compute'], { ORT_DISABLE_TELEMETRY: '0' }],
    ["a thread of the application's", ['compute-in-thread', '{}']],
    ['a thread of a thread', ['compute-in-thread-of-thread']],
    ['a thread with no environment', ['compute-in-thread', '{"env":{}}']],
    [
      'a thread whose environment alone has the variable',
      ['compute-in-thread', '{"env":{"ORT_DISABLE_TELEMETRY":"1"}}'],
    ],
    ['a thread that the main thread waits for without its event loop', ['compute-in-thread', '{}', 'blocked']],
    ['a thread of a process that is debugged', ['--inspect=0', 'compute-in-thread', '{}']],
  ])('is off in %s', async (_, args, environment) => {
    const [path = '', ...rest] = args.filter((arg) => !arg.startsWith('--'));
    const options = args.filter((arg) => arg.startsWith('--'));
    expect(await leftAtHome([...options, script(path), ...rest], environment)).toEqual([]);
  });

  describe('in a thread of a process with permissions, which may not ask its main thread', () => {
    const flag = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
    const permissions = [flag, '--allow-worker', '--allow-addons', '--allow-fs-read=*', '--allow-fs-write=*'];
    const args = [...permissions, script('compute-in-thread'), '{}'];

    it('is never on: the thread computes nothing, and says what to set', async () => {
      await expect(leftAtHome(args)).rejects.toThrow('set ORT_DISABLE_TELEMETRY=1 in the environment of the process');
    });

    it('is off where the process has the variable', async () => {
      expect(await leftAtHome(args, { ORT_DISABLE_TELEMETRY: '1' })).toEqual([]);
    });
  });
});
