import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './report.js';

/**
 * How processes end while a model is loaded or asked in a thread: the exit codes of many runs, by how the end comes. Each
 * must be as asked for: 3 of `process.exit(3)` and of a handler of SIGTERM, 1 of an error, 0 after a thread was terminated.
 * Usage: `npm run bench -- endings [--runs 200] [--node <path>]… [--end terminate]…`.
 */

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    node: { type: 'string', multiple: true },
    end: { type: 'string', multiple: true },
  },
});
const runs = Number(options.runs);
const program = fileURLToPath(new URL('./endings/program.mjs', import.meta.url));
const EXPECTED = { exit: 3, sigterm: 3, throw: 1, terminate: 0 } as const;
const ENDS = [
  ['exit', 'worker'],
  ['sigterm', 'worker'],
  ['throw', 'worker'],
  ['terminate', 'worker'],
  ['terminate', 'process'],
] as const;
/** When the end comes, after the first answer or the start of loading. */
const SPREAD_MS = 300;

async function exitOf(node: string, args: readonly string[], sendsSignal: boolean): Promise<string> {
  const child = spawn(node, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => sendsSignal && child.kill('SIGTERM'));
  const [code, signal] = await once(child, 'exit');
  return String(code ?? signal);
}

console.log(`${runs} runs each; ${machine()}`);
for (const node of options.node ?? [process.execPath]) {
  const rows = [];
  for (const during of ['load', 'busy']) {
    for (const [end, isolation] of ENDS.filter(([each]) => options.end?.includes(each) ?? true)) {
      const others: Record<string, number> = {};
      for (let run = 0; run < runs; run += 1) {
        const ms = String(Math.round((SPREAD_MS * run) / runs));
        const code = await exitOf(node, [during, end, ms, isolation], end === 'sigterm');
        if (code !== String(EXPECTED[end])) others[code] = (others[code] ?? 0) + 1;
      }
      const row = { node, during, end, isolation, expected: EXPECTED[end], others: JSON.stringify(others) };
      rows.push(row);
      console.log(`${during}, ${end} (${isolation}): ${row.others}`);
    }
  }
  console.table(rows);
}
