import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FACTOR, Halving, rungShares, type Step } from '../../src/api/tune-model.js';

/** Which trial of a search runs next. */

const ample = { left: Number.POSITIVE_INFINITY, cost: () => 1 };

/** Runs a search to its end. @param figureOf what a run comes to; undefined where it fails. */
function searched(
  { rungs, trials }: { rungs: number; trials: number },
  figureOf: (step: Step) => number | undefined,
): Step[] {
  const halving = new Halving(rungs, trials);
  const steps: Step[] = [];
  for (;;) {
    const step = halving.next(ample);
    if (typeof step === 'string') return steps;
    steps.push(step);
    halving.begin(step);
    const figure = figureOf(step);
    if (figure !== undefined) halving.ended(step, figure);
    if (steps.length > 10_000) throw new Error('the search does not end');
  }
}

const told = (steps: readonly Step[]) => steps.map(({ trial, rung }) => `${trial}@${rung}`).join(' ');

describe('rungs', () => {
  it('are thirds and ninths of the epochs, as far as there are epochs', () => {
    expect(rungShares(1)).toEqual([1]);
    expect(rungShares(2)).toEqual([1]);
    expect(rungShares(3)).toEqual([1 / 3, 1]);
    expect(rungShares(8)).toEqual([1 / 3, 1]);
    expect(rungShares(9)).toEqual([1 / 9, 1 / 3, 1]);
    expect(rungShares(1000)).toEqual([1 / 9, 1 / 3, 1]);
  });
});

describe('successive halving', () => {
  it('goes on with the best third of a rung as soon as there is one', () => {
    // Trial 5 is the best, then 4, 3, 2, 1, worked out by hand from algorithm 2 of the paper.
    expect(told(searched({ rungs: 2, trials: 6 }, ({ trial }) => (trial === 6 ? 0 : trial)))).toBe(
      '1@0 2@0 3@0 3@1 4@0 4@1 5@0 5@1 6@0',
    );
    // The first is the best of all: at three trials it goes on, at six the second best follows.
    expect(told(searched({ rungs: 2, trials: 6 }, ({ trial }) => -trial))).toBe('1@0 2@0 3@0 1@1 4@0 5@0 6@0 2@1');
  });

  it('trains the best in full where there are too few for a third', () => {
    expect(told(searched({ rungs: 3, trials: 2 }, ({ trial }) => trial))).toBe('1@0 2@0 2@2');
    expect(told(searched({ rungs: 1, trials: 2 }, ({ trial }) => trial))).toBe('1@0 2@0');
    expect(told(searched({ rungs: 3, trials: 0 }, () => 1))).toBe('');
  });

  it('never goes on with a trial that failed', () => {
    const steps = searched({ rungs: 2, trials: 6 }, ({ trial }) => (trial === 1 ? undefined : -trial));
    expect(steps.filter(({ trial }) => trial === 1)).toEqual([{ trial: 1, rung: 0 }]);
  });

  it('runs each trial once on a rung, upwards, and goes on only with one of the best third so far', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 40 }),
        (rungs, figures) => {
          const figureOf = ({ trial }: Step) => figures[trial - 1] ?? 0;
          const steps = searched({ rungs, trials: figures.length }, figureOf);
          expect(new Set(steps.map(({ trial, rung }) => `${trial}@${rung}`)).size).toBe(steps.length);
          expect(steps.filter(({ rung }) => rung === 0)).toHaveLength(figures.length);
          expect(steps.some(({ rung }) => rung === rungs - 1)).toBe(true);
          for (const [at, step] of steps.entries()) {
            if (step.rung === 0) continue;
            const below = steps.slice(0, at).filter(({ rung }) => rung === step.rung - 1);
            const better = below.filter((each) => figureOf(each) > figureOf(step));
            const isLastResort = at === steps.length - 1 && step.rung === rungs - 1;
            if (!isLastResort) expect(better.length).toBeLessThan(Math.floor(below.length / FACTOR));
          }
        },
      ),
    );
  });
});

describe('a search with little time', () => {
  const cost = (rung: number) => [1, 3, 9][rung] ?? 9;

  it('begins nothing that it could not train in full', () => {
    expect(new Halving(3, 9).next({ left: 8.9, cost })).toBe('no time');
    expect(new Halving(3, 9).next({ left: 9, cost })).toEqual({ trial: 1, rung: 2 });
    expect(new Halving(3, 9).next({ left: 10, cost })).toEqual({ trial: 1, rung: 0 });
  });

  it('trains the best one that waits in full, before the time for that runs out', () => {
    const halving = new Halving(3, 9);
    for (const [trial, figure] of [
      [1, 0.5],
      [2, 0.7],
    ] as const) {
      halving.begin({ trial, rung: 0 });
      halving.ended({ trial, rung: 0 }, figure);
    }
    expect(halving.next({ left: 9.5, cost })).toEqual({ trial: 2, rung: 2 });
  });
});
