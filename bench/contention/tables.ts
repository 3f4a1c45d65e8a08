import { median } from '../report.js';
import type { Measured } from './rounds.js';

/** A step of each contestant, the median over the rounds after the first, and ratios of the adaptive one by round. */
export function stepsTable(measured: readonly Measured[]): string {
  const names = namesOf(measured);
  const [one = '', several = ''] = names;
  const adaptive = names.at(-1) ?? '';
  const header = ['busy', ...names.map((name) => `${name} (ms)`), `adaptive / ${one}`, `adaptive / ${several}`];
  const rows = measured.map(({ busy, steps }) => {
    const later = (name: string) => (steps.get(name) ?? []).slice(1);
    const ratio = (name: string) => ratioBy(later(adaptive), later(name)).toFixed(2);
    const times = names.map((name) => median(later(name)).toFixed(0));
    return [String(busy), ...times, ratio(one), ratio(several)];
  });
  return `A step, median of rounds:\n\n${markdown(header, rows)}`;
}

/** The first round after the busy processes were started or stopped, in which threads adapt. */
export function changesTable(measured: readonly Measured[]): string {
  const names = namesOf(measured);
  const rows = measured.map(({ busy, steps }) => [
    String(busy),
    ...names.map((name) => (steps.get(name)?.[0] ?? Number.NaN).toFixed(0)),
  ]);
  return `A step in the first round after the change:\n\n${markdown(['busy', ...names.map((name) => `${name} (ms)`)], rows)}`;
}

const namesOf = (measured: readonly Measured[]): string[] => [...(measured[0]?.steps.keys() ?? [])];

/** The median over the rounds of one's time divided by the other's. */
const ratioBy = (own: readonly number[], other: readonly number[]): number =>
  median(own.map((time, round) => time / (other[round] ?? Number.NaN)));

/** A Markdown table. */
export function markdown(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return `${[line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}
