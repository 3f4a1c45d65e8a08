import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { SourceReader } from '../../src/system/index.js';
import { failureOf } from '../support/outcomes.js';

const doing = 'the reading';

/** Numbers, and what was done with their source. */
function numbers(count = 3) {
  const done: string[] = [];
  async function* source() {
    try {
      for (let at = 0; at < count; at += 1) yield at;
      done.push('read');
    } finally {
      done.push('closed');
    }
  }
  return { source: source(), done };
}

/** One item; nothing comes after it, and nothing ends the wait. */
function waiting() {
  let isClosed = false;
  const items = [{ done: false, value: 'first' }] as const;
  let at = 0;
  const source: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const item = items[at];
        at += 1;
        return item === undefined ? new Promise(() => {}) : Promise.resolve(item);
      },
      return: () => {
        isClosed = true;
        return new Promise(() => {});
      },
    }),
  };
  return { source, isClosed: () => isClosed };
}

async function collected<Item>(reader: SourceReader<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of reader) items.push(item);
  return items;
}

describe('a reader', () => {
  it.each<[string, Iterable<number> | AsyncIterable<number>]>([
    ['an array', [0, 1, 2]],
    ['an iterable', new Set([0, 1, 2])],
    ['an async generator', numbers().source],
  ])('gives the items of %s, again where they are put back', async (_, source) => {
    const reader = new SourceReader(source, { doing });
    const first = [await reader.next(), await reader.next()].map(({ value }) => value ?? -1);
    reader.putBack(first);
    expect(await collected(reader)).toEqual([0, 1, 2]);
    reader.putBack([7, 8]);
    expect(await collected(reader)).toEqual([7, 8]);
  });

  it('closes a source that is not read to its end, once, also if it was never iterated', async () => {
    const { source, done } = numbers();
    for await (const _ of new SourceReader(source, { doing })) break;
    expect(done).toEqual(['closed']);
    let closed = 0;
    const iterator = { next: () => ({ done: false, value: 0 }), return: () => ({ done: true, value: ++closed }) };
    const unread = new SourceReader({ [Symbol.iterator]: () => iterator }, { doing });
    await unread.return();
    await unread.return();
    expect(closed).toBe(1);
    expect(await unread.next()).toEqual({ done: true, value: undefined });
  });

  it('throws what its source throws, and closes it no more', async () => {
    let closed = 0;
    const iterator = {
      next: () => {
        throw new RangeError('no more items');
      },
      return: () => ({ done: true, value: ++closed }),
    };
    const reader = new SourceReader({ [Symbol.iterator]: () => iterator }, { doing });
    await expect(reader.next()).rejects.toThrow('no more items');
    await reader.return();
    expect(closed).toBe(0);
  });

  it('does not wait to close a source that waits for its next item', async () => {
    const { source, isClosed } = waiting();
    const reader = new SourceReader(source, { doing });
    await reader.next();
    void reader.next();
    expect(await reader.return()).toEqual({ done: true, value: undefined });
    expect(isClosed()).toBe(true);
  });
});

describe('a signal', () => {
  it('ends the wait for an item, and closes the source', async () => {
    const { source, isClosed } = waiting();
    const stop = new AbortController();
    const reader = new SourceReader(source, { doing, signal: stop.signal });
    expect(await reader.next()).toEqual({ done: false, value: 'first' });
    const next = reader.next();
    stop.abort('enough');
    const error = await failureOf('aborted', () => next);
    expect(error).toMatchObject({ message: 'the reading was aborted', cause: 'enough' });
    expect(isClosed()).toBe(true);
  });

  it('that fires between two items, or while the source makes one, ends the reading, too', async () => {
    for (const isMaking of [false, true]) {
      const stop = new AbortController();
      let isClosed = false;
      function* source() {
        try {
          yield 1;
          if (isMaking) stop.abort();
          yield 2;
        } finally {
          isClosed = true;
        }
      }
      const reader = new SourceReader(source(), { doing, signal: stop.signal });
      await reader.next();
      if (!isMaking) stop.abort();
      await failureOf('aborted', () => reader.next());
      expect(isClosed).toBe(true);
    }
  });

  it('is listened to no longer than the source is read', async () => {
    const { signal } = new AbortController();
    const ended = new SourceReader([1, 2], { doing, signal });
    const left = new SourceReader([1, 2], { doing, signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await collected(ended);
    await left.return();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
