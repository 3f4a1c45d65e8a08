import type { Agreement, Result, SideName } from './compare.js';
import type { SubjectName } from './models.js';

/** What every library reached in one scenario, in every runtime. */
export interface Measured {
  readonly scenario: string;
  readonly results: readonly Result[];
}

type Cell = (result: Result) => string;

/** Each with Orchard's figure, then the peer's. */
const columns: Readonly<Record<string, Cell>> = {
  'texts/s': ({ textsPerSecond }) => textsPerSecond.toFixed(0),
  'texts per processor second': ({ textsPerProcessorSecond }) => textsPerProcessorSecond.toFixed(0),
  'p50 of a call, ms': ({ p50Ms }) => p50Ms.toFixed(2),
  'p99 / p50': ({ tail }) => tail.toFixed(1),
  'p99 of stalls, ms': ({ stallMs }) => stallMs?.p99.toFixed(1) ?? '',
  'longest stall, ms': ({ stallMs }) => stallMs?.max.toFixed(1) ?? '',
  'peak, MiB': ({ peakMebibytes }) => peakMebibytes.toFixed(0),
};

function markdown(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${' --- |'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function sideOf(results: readonly Result[], name: SideName, runtime: string): Result | undefined {
  return results.find((result) => result.name === name && result.runtime === runtime);
}

/** Orchard and a peer in one runtime: a row for each scenario, as Markdown. */
export function comparisonTable(measured: readonly Measured[], peer: SideName, runtime: string): string {
  const ownRuntime = peer === 'onnxruntime in Python' ? 'Python' : runtime;
  const rows = measured.flatMap(({ scenario, results }) => {
    const ours = sideOf(results, 'Orchard', runtime);
    const theirs = sideOf(results, peer, ownRuntime);
    if (ours === undefined || theirs === undefined) return [];
    const ratio = peer === 'transformers.js' ? ours.ratio : ours.textsPerSecond / theirs.textsPerSecond;
    const work = ours.textsPerProcessorSecond / theirs.textsPerProcessorSecond;
    const both = Object.values(columns).map((cell) => `${cell(ours)} / ${cell(theirs)}`);
    return [[scenario, `${ratio.toFixed(2)}×`, `${work.toFixed(2)}×`, ...both, `${theirs.threads}`]];
  });
  const ratios = [`texts/s, × ${peer}`, 'texts per processor second, × the same'];
  return rows.length === 0 ? '' : markdown(['', ...ratios, ...Object.keys(columns), "peer's threads"], rows);
}

/** The rows that were measured in several runtimes: texts per second of Orchard and of the peer, and their ratio. */
export function runtimesTable(measured: readonly Measured[], runtimes: readonly string[]): string {
  const rows = measured
    .filter(({ results }) => runtimes.slice(1).some((runtime) => sideOf(results, 'Orchard', runtime)))
    .map(({ scenario, results }) => [
      scenario,
      ...runtimes.map((runtime) => {
        const ours = sideOf(results, 'Orchard', runtime);
        const theirs = sideOf(results, 'transformers.js', runtime);
        const [own = '–', other = '–'] = [ours, theirs].map((side) => side?.textsPerSecond.toFixed(0));
        return theirs === undefined ? own : `${own} / ${other} = ${ours?.ratio.toFixed(2) ?? '–'}×`;
      }),
    ]);
  return rows.length === 0 ? '' : markdown(['texts/s', ...runtimes], rows);
}

export function agreementLine({ subject, peer, runtime, numbers, largestDifference, isEqual }: Agreement): string {
  const difference = `largest difference ${largestDifference.toExponential(1)} of ${numbers} numbers`;
  return `${subject}: float32 answers ${isEqual ? 'equal' : 'NOT EQUAL'} to those of ${peer}, ${runtime} (${difference})`;
}

export function titleOf(subject: SubjectName, precision: 'float32' | 'int8', busy: number): string {
  const bits = precision === 'int8' ? '8 bits' : 'float32';
  const load = busy === 1 ? 'another process uses the CPU' : `${busy} other processes use the CPU`;
  return `${subject}, ${bits}${busy === 0 ? '' : `, while ${load}`}`;
}
