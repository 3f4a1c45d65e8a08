import type { Result } from './compare.js';
import type { Agreement } from './same-answers.js';
import type { Side } from './sides.js';

/** What every library reached in one scenario. */
export interface Measured {
  readonly scenario: string;
  readonly busy: number;
  readonly results: readonly Result[];
}

const digits = (value: number, count: number) => Number(value.toFixed(count));

export function printMeasured({ scenario, busy, results }: Measured): void {
  console.log(`\n${scenario}${busy === 0 ? '' : `, beside ${busy} busy processes`}`);
  console.table(
    Object.fromEntries(
      results.map((result) => [
        result.side,
        {
          threads: result.threads,
          'texts/s': Math.round(result.textsPerSecond),
          '× peer': digits(result.ratio, 2),
          'by round': result.ratios.map((ratio) => ratio.toFixed(1)).join(' '),
          'p50 ms': digits(result.p50Ms, 2),
          'p99 ms': digits(result.p99Ms, 2),
          'p50 × peer': digits(result.p50Ratio, 2),
          'loop delay p99 ms': result.loopDelayMs === null ? '' : digits(result.loopDelayMs, 1),
          'peak MiB': Math.round(result.peakMebibytes),
          'tried: texts/s': result.tried
            .map(({ threads, textsPerSecond }) => `${threads}: ${Math.round(textsPerSecond)}`)
            .join(', '),
          'decoding %': result.decodingShare === null ? '' : digits(100 * result.decodingShare, 1),
        },
      ]),
    ),
  );
}

/** The ratios of every scenario, in one table. */
export function printRatios(measured: readonly Measured[]): void {
  console.log('\nThroughput and p50 of a call, beside transformers.js in float32');
  const row = ({ scenario, busy, results }: Measured) => {
    const cells = results
      .filter(({ isOurs }) => isOurs)
      .flatMap(({ side, ratio, p50Ratio }) => [
        [side, `${ratio.toFixed(2)}x`],
        [`${side}, p50`, `${p50Ratio.toFixed(2)}x`],
      ]);
    const name = busy === 0 ? scenario : `${scenario}, ${busy} busy`;
    return [name, Object.fromEntries(cells)];
  };
  console.table(Object.fromEntries(measured.map(row)));
}

/** The libraries and their versions. */
export function printSides(subject: string, sides: readonly Side[]): void {
  const names = sides.flatMap(({ contestants }) => contestants.map(({ contestant }) => contestant.name));
  console.log(`\n${subject}: ${[...new Set(names)].join(', ')}`);
}

export function printAgreements(agreements: readonly Agreement[]): void {
  for (const { subject, peer, numbers, largestDifference, isEqual } of agreements) {
    const difference = `largest difference ${largestDifference.toExponential(1)} of ${numbers} numbers`;
    console.log(`${subject}: float32 answers ${isEqual ? 'equal' : 'NOT EQUAL'} to ${peer}'s (${difference})`);
  }
}
