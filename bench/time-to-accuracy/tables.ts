import { markdown } from '../contention/tables.js';
import type { Result } from './results.js';

/** One table a dataset, the fastest first. */
export function resultTables(results: readonly Result[]): string {
  const header = ['', 'accuracy', 'seconds', 'processor seconds', 'settings'];
  return datasetsOf(results)
    .map((dataset) => {
      const own = results
        .filter((each) => each.dataset === dataset)
        .sort((a, b) => a.processorSeconds - b.processorSeconds);
      const rows = own.map(({ contestant, accuracy, seconds, processorSeconds, settings }) => [
        contestant,
        accuracy.toFixed(1),
        seconds.toFixed(1),
        processorSeconds.toFixed(1),
        settings,
      ]);
      return `**${dataset}**\n\n${markdown(header, rows)}`;
    })
    .join('\n');
}

/** In the order of their first results. */
export const datasetsOf = (results: readonly Result[]): string[] => [...new Set(results.map(({ dataset }) => dataset))];

/** Libraries with their versions, and the machines. */
export function printedVersions(results: readonly Result[]): string {
  const versions = [...new Set(results.flatMap((each) => each.versions.split(', ')))].sort();
  const machines = [...new Set(results.map((each) => each.machine))].sort();
  return `${versions.join(', ')}\n${machines.join('\n')}`;
}
