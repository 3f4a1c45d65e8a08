import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { evaluationCases } from '../test/api/evaluation-cases.js';
import { evaluationsOf, namedFigures, reportedFigures } from '../test/api/evaluation-figures.js';
import { machine } from './report.js';

/**
 * Compares the figures of `model.evaluate` with scikit-learn's and seqeval's on made-up truths and answers.
 * Usage: `npm run bench -- evaluation [--python python3] [--record]`; Python needs `pip install scikit-learn seqeval`.
 * `--record` writes what Python said to test/easy/recorded-reports.json, which `npm test` compares with.
 */

const { values: options } = parseArgs({
  options: { python: { type: 'string', default: 'python3' }, record: { type: 'boolean', default: false } },
});
/** Largest difference between numbers that count as equal. */
const TOLERANCE = 1e-6;

const partSchema = z.object({ report: z.record(z.string(), z.unknown()) });
const reportSchema = z.object({
  versions: z.record(z.string(), z.string()),
  labels: partSchema,
  multilabel: partSchema,
  entities: partSchema,
});

const script = fileURLToPath(new URL('interop/evaluation_peer.py', import.meta.url));
const cases = evaluationCases();
const { stdout, stderr, error, status } = spawnSync(options.python, [script], {
  input: JSON.stringify(cases),
  encoding: 'utf8',
});
if (error || status !== 0) throw new Error(error ? `${options.python} does not start` : stderr);
const report = reportSchema.parse(JSON.parse(stdout));
const ours = evaluationsOf(cases);
const rows = (['labels', 'multilabel', 'entities'] as const).map((kind) => {
  const mine = namedFigures(ours[kind]);
  const theirs = [...reportedFigures(report[kind].report)];
  const differences = theirs.map(([name, value]) => Math.abs((mine.get(name) ?? Number.NaN) - value));
  const largest = Math.max(...differences);
  return { kind, figures: theirs.length, 'largest difference': largest, equal: largest <= TOLERANCE };
});
console.log(machine());
console.log(report.versions);
console.table(rows);
if (options.record) {
  const file = fileURLToPath(new URL('../test/easy/recorded-reports.json', import.meta.url));
  writeFileSync(file, stdout);
}
if (!rows.every(({ equal }) => equal)) process.exitCode = 1;
