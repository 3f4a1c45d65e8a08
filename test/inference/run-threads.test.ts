import { describe, expect, it } from 'vitest';
import type { Width } from '../../src/graph/index.js';
import { RunThreads } from '../../src/inference/encoder-runs.js';

/** Lets a model of which several threads make a run so many times as fast choose for some runs. */
function choices(threads: RunThreads, gain: number, tokens = 100, runs = 200): Width[] {
  return Array.from({ length: runs }, () => {
    const width = threads.choose(tokens);
    threads.learn(tokens, width === 'wide' ? tokens / gain : tokens);
    return width;
  });
}

const share = (widths: readonly Width[], width: Width) =>
  widths.filter((each) => each === width).length / widths.length;

describe('the number of threads of a run', () => {
  it('is that which took less time, apart from a trial now and then', () => {
    expect(share(choices(new RunThreads(), 1.5), 'wide')).toBeGreaterThan(0.9);
    expect(share(choices(new RunThreads(), 0.7), 'narrow')).toBeGreaterThan(0.9);
  });

  it('is one where several are hardly faster', () => {
    expect(share(choices(new RunThreads(), 1.05), 'narrow')).toBeGreaterThan(0.9);
  });

  it('does not depend on a slow first run, nor on one now and then that something else held up', () => {
    const threads = new RunThreads();
    let hasBeenWide = false;
    const widths = Array.from({ length: 400 }, (_, run) => {
      const width = threads.choose(100);
      const isFirstWide = width === 'wide' && !hasBeenWide;
      hasBeenWide ||= isFirstWide;
      const slow = isFirstWide || run % 7 === 6 ? 20 : 1;
      threads.learn(100, (width === 'wide' ? 60 : 100) * slow);
      return width;
    });
    expect(share(widths.slice(20), 'wide')).toBeGreaterThan(0.9);
  });

  it('changes when the machine becomes busy, and when it is free again', () => {
    const threads = new RunThreads();
    choices(threads, 1.5);
    expect(share(choices(threads, 0.2).slice(20), 'narrow')).toBeGreaterThan(0.9);
    choices(threads, 1.5, 100, 1000);
    expect(share(choices(threads, 1.5), 'wide')).toBeGreaterThan(0.9);
  });

  it('is chosen for short and long runs apart', () => {
    const threads = new RunThreads();
    choices(threads, 0.7, 20);
    choices(threads, 1.5, 300);
    expect(share(choices(threads, 0.7, 20), 'narrow')).toBeGreaterThan(0.9);
    expect(share(choices(threads, 1.5, 300), 'wide')).toBeGreaterThan(0.9);
  });

  it('asks for a session of several threads only once a model is asked one text at a time', () => {
    const threads = new RunThreads();
    expect(threads.wantsWide).toBe(false);
    choices(threads, 1, 50, 7);
    expect(threads.wantsWide).toBe(false);
    choices(threads, 1, 50, 1);
    expect(threads.wantsWide).toBe(true);
  });
});
