import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const MODEL = 'sentiment-classification';
const PORT = 4571;
const START_MS = 30_000;

/** Next tells its maker about each build, unless it is told not to. */
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

/** @returns what the command prints. @throws with all that it printed where it fails. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 2 ** 26 });
  return stdout;
}

/** Cells for asking and training: what came of it, or the beginning of the error. */
export async function outcomeOf(file: string, catalogue: string): Promise<[string, string]> {
  const printed = await run(process.execPath, [file, catalogue, MODEL], join(file, '..')).catch(String);
  const cell = (work: string): string => {
    const [, told = 'no word of it'] = new RegExp(`^${work} (.*)$`, 'm').exec(printed) ?? [];
    return told.length > 90 ? `${told.slice(0, 90)}…` : told;
  };
  return [cell('ask'), cell('train')];
}

/** Starts the standalone server and asks it. */
export async function askNext(application: string, catalogue: string): Promise<string> {
  const server = spawn(process.execPath, [join(application, '.next', 'standalone', 'server.js')], {
    env: { ...env, PORT: String(PORT), HOSTNAME: '127.0.0.1', MODELS: catalogue, MODEL },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${PORT}/api/ask?text=a%20fine%20film`;
  try {
    for (let waited = 0; waited < START_MS; waited += 500) {
      const answer = await fetch(url).catch(() => undefined);
      if (answer !== undefined) return await answer.text();
      await sleep(500);
    }
    return 'no answer';
  } finally {
    server.kill();
  }
}
