import { describe, expect, it } from 'vitest';
import { OpenEncoders } from '../../src/search/embed.js';

/** Encoders that `embed` keeps open. */

/** Makes encoders, and tells which are open. */
function aShelf(kept: number) {
  const open: string[] = [];
  const encoders = new OpenEncoders<{ name: string; close(): Promise<void> }>(kept);
  const opening = (name: string) => async () => {
    open.push(name);
    const close = async () => {
      open.splice(open.indexOf(name), 1);
    };
    return { name, close };
  };
  const use = <Value>(name: string, work: () => Promise<Value>) => encoders.use(name, opening(name), work);
  const touch = (name: string) => use(name, async () => undefined);
  return { open, encoders, use, touch };
}

describe('encoders that are kept open', () => {
  it('are the ones that were used last, however many are asked for', async () => {
    const { open, touch } = aShelf(2);
    for (const name of ['a', 'b', 'a', 'c', 'd', 'c', 'e']) await touch(name);
    expect(open).toEqual(['c', 'e']);
  });

  it('are opened once for calls at the same time', async () => {
    const { open, touch } = aShelf(2);
    await Promise.all([touch('a'), touch('a'), touch('a')]);
    expect(open).toEqual(['a']);
  });

  it('are not closed while a call works with them', async () => {
    const { open, use, touch } = aShelf(1);
    let finish = () => {};
    const working = use('a', () => new Promise<void>((resolve) => (finish = resolve)));
    await touch('b');
    await touch('c');
    expect(open).toEqual(['a', 'c']);
    finish();
    await working;
    expect(open).toEqual(['c']);
  });

  it('are closed after a call that fails too, and opened again after an opening that failed', async () => {
    const { open, encoders, use, touch } = aShelf(1);
    const fails = async () => Promise.reject(new Error('no'));
    await expect(use('a', fails)).rejects.toThrow('no');
    await touch('b');
    expect(open).toEqual(['b']);
    await expect(encoders.use('c', fails, fails)).rejects.toThrow('no');
    await touch('c');
    expect(open).toEqual(['c']);
  });
});
