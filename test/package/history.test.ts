import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addToHistory, type HistoryLine, readHistory } from '../../bench/history/lines.js';
import { drawHistory } from '../../bench/history/plot.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The history of benches: lines that are read back, and a plot of them. */

const aLine = (commit: string, ratio: number, machine = 'a machine'): HistoryLine => ({
  commit,
  date: '2026-01-02',
  machine,
  rounds: 7,
  measured: { answers: { ratio, low: ratio - 0.5, high: ratio + 0.5 } },
});

describe('the history of benches', () => {
  it('has one line for each commit and machine, the latest measurement last', () => {
    const file = join(temporaryDirectory(), 'history.jsonl');
    for (const line of [aLine('a', 3), aLine('b', 4), aLine('a', 5, 'another'), aLine('a', 6)])
      addToHistory(file, line);
    expect(readHistory(file)).toEqual([aLine('b', 4), aLine('a', 5, 'another'), aLine('a', 6)]);
  });

  it('refuses a line that is none', () => {
    const file = join(temporaryDirectory(), 'history.jsonl');
    writeFileSync(file, '{"commit":"a"}\n');
    expect(() => readHistory(file)).toThrow();
  });

  it('is drawn from left to right, a lower ratio below a higher one', () => {
    const drawn = drawHistory([aLine('a', 4), aLine('b', 2), aLine('c', 3)]);
    const dots = [...drawn.matchAll(/cx="([\d.]+)" cy="([\d.]+)" r="3"><title>(\w): ([\d.]+)/g)];
    expect(dots.map(([, , , commit, ratio]) => [commit, ratio])).toEqual([
      ['a', '4.00'],
      ['b', '2.00'],
      ['c', '3.00'],
    ]);
    const [ax = 0, bx = 0, cx = 0] = dots.map(([, x]) => Number(x));
    expect(ax < bx && bx < cx).toBe(true);
    const [ay = 0, by = 0, cy = 0] = dots.map(([, , y]) => Number(y));
    expect(by > cy && cy > ay).toBe(true);
  });
});
