import { describe, expect, it } from 'vitest';
import { ThreadChoice, type Width } from '../../src/graph/index.js';

const EVEN = { first: 'wide', toWide: 0.97, toNarrow: 0.97 } as const;

/** Milliseconds of a run of size 1 with one thread and with several. */
interface Machine {
  readonly narrow: number;
  readonly wide: number;
}

const alone: Machine = { narrow: 466, wide: 257 };
const besideOne: Machine = { narrow: 472, wide: 700 };

interface Simulation {
  readonly runs?: number;
  /** What a change of width takes. */
  readonly switchMs?: number;
  readonly sizeOf?: (run: number) => number;
  /** A factor for the time of a run that something else caused. */
  readonly noiseOf?: (run: number) => number;
}

/** Lets some runs happen on a machine. @returns the widths, and the milliseconds of all with their changes of width. */
function simulate(
  choice: ThreadChoice,
  machine: Machine,
  { runs = 300, switchMs = 100, sizeOf = () => 1, noiseOf = () => 1 }: Simulation = {},
) {
  const widths: Width[] = [];
  let total = 0;
  let last = choice.width;
  for (let run = 0; run < runs; run += 1) {
    const { width } = choice;
    const spent = width === last ? 0 : switchMs;
    const ms = machine[width] * sizeOf(run) * noiseOf(run);
    choice.learn({ size: sizeOf(run), ms, switchMs: spent });
    widths.push(width);
    total += ms + spent;
    last = width;
  }
  return { widths, total };
}

const share = (widths: readonly Width[], width: Width) =>
  widths.filter((each) => each === width).length / widths.length;

describe('the threads of runs', () => {
  it('are several on a machine of their own, at a loss of at most 3 %', () => {
    const { total } = simulate(new ThreadChoice(EVEN), alone);
    expect(total).toBeLessThan(1.03 * 300 * alone.wide);
    expect(total).toBeGreaterThan(300 * alone.wide);
  });

  it('are one beside a busy process, at a loss of at most 5 %', () => {
    const { total } = simulate(new ThreadChoice(EVEN), besideOne);
    expect(total).toBeLessThan(1.05 * 300 * besideOne.narrow);
  });

  it('become one soon after another process has become busy', () => {
    const choice = new ThreadChoice(EVEN);
    simulate(choice, alone);
    const { widths } = simulate(choice, besideOne, { runs: 20 });
    expect(widths.indexOf('narrow')).toBeLessThan(5);
    expect(share(widths.slice(5), 'narrow')).toBe(1);
  });

  it('become several again within a minute after the others have ended, though one thread is no faster then', () => {
    const choice = new ThreadChoice(EVEN);
    simulate(choice, besideOne);
    const { widths } = simulate(choice, alone);
    const before = widths.indexOf('wide');
    expect(before * alone.narrow).toBeLessThan(60_000);
    expect(share(widths.slice(before), 'wide')).toBeGreaterThan(0.97);
  });

  it('are compared between runs of different sizes', () => {
    const sizeOf = (run: number) => [1, 0.2, 3, 0.5, 1.5][run % 5] ?? 1;
    const free = simulate(new ThreadChoice(EVEN), alone, { sizeOf });
    expect(share(free.widths, 'wide')).toBeGreaterThan(0.97);
    const busy = simulate(new ThreadChoice(EVEN), besideOne, { sizeOf });
    expect(share(busy.widths, 'narrow')).toBeGreaterThan(0.95);
  });

  it('do not change for a run now and then that something else held up', () => {
    const noiseOf = (run: number) => (run % 7 === 6 ? 20 : 1);
    const { widths } = simulate(new ThreadChoice(EVEN), alone, { noiseOf });
    expect(share(widths, 'wide')).toBeGreaterThan(0.95);
  });

  it('do not change to and fro where both are the same', () => {
    const noiseOf = (run: number) => 1 + 0.1 * Math.sin(run * 1.7);
    const { total } = simulate(new ThreadChoice(EVEN), { narrow: 300, wide: 300 }, { noiseOf });
    expect(total).toBeLessThan(1.04 * 300 * 300);
  });

  it('are tried rarely where a change takes long', () => {
    const { widths } = simulate(new ThreadChoice(EVEN), alone, { switchMs: 5000, runs: 1000 });
    expect(widths.filter((width) => width === 'narrow').length).toBeLessThan(4);
  });

  it('lose at most 6 % while the machine is busy and free in turn every minute', () => {
    const choice = new ThreadChoice(EVEN);
    simulate(choice, alone);
    let total = 0;
    let narrow = 0;
    for (let minute = 0; minute < 20; minute += 1) {
      const machine = minute % 2 === 0 ? besideOne : alone;
      total += simulate(choice, machine, { runs: 130 }).total;
      narrow += 130 * machine.narrow;
    }
    expect(total).toBeLessThan(1.06 * narrow);
  });

  it('are at first what others have found, without a trial', () => {
    const choice = new ThreadChoice(EVEN);
    choice.follow('narrow');
    expect(share(simulate(choice, besideOne, { runs: 150 }).widths, 'narrow')).toBe(1);
  });
});
