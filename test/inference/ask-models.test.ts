import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InternalError } from '../../src/contract/errors.js';
import { askModels } from '../../src/inference/medley.js';

/** Models that answer with their name in capitals, when they are told to. */
class WaitingModels {
  readonly begun: string[] = [];
  readonly #running = new Map<string, () => void>();

  get running(): string[] {
    return [...this.#running.keys()];
  }

  readonly ask = (name: string): Promise<string> => {
    this.begun.push(name);
    return new Promise((resolve) => {
      this.#running.set(name, () => resolve(name.toUpperCase()));
    });
  };

  async answer(name: string): Promise<void> {
    this.#running.get(name)?.();
    this.#running.delete(name);
    await new Promise(setImmediate);
  }
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

describe('several models', () => {
  it('run two at a time, the next one as soon as one has answered, in whatever order they end', async () => {
    const order = fc.tuple(fc.integer({ min: 1, max: names.length }), fc.infiniteStream(fc.nat()));
    await fc.assert(
      fc.asyncProperty(order, async ([count, choices]) => {
        const models = new WaitingModels();
        const asked = names.slice(0, count);
        const all = askModels(asked, models.ask);
        for (let answered = 0; answered < count; answered += 1) {
          const { running } = models;
          expect(running).toHaveLength(Math.min(2, count - answered));
          expect(models.begun).toEqual(asked.slice(0, answered + running.length));
          const { value: choice } = choices.next();
          await models.answer(running[choice % running.length] ?? '');
        }
        const expected = asked.map((name) => [name, { answer: name.toUpperCase() }]);
        expect([...(await all)]).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('are all asked where some of them fail', async () => {
    const failure = new InternalError('no');
    const outcomes = await askModels(names, async (name) => {
      if ('be'.includes(name)) throw failure;
      return name;
    });
    const expected = names.map((name) => [name, 'be'.includes(name) ? { failure } : { answer: name }]);
    expect([...outcomes]).toEqual(expected);
  });

  it('are not asked any more once the signal has fired', async () => {
    const controller = new AbortController();
    const models = new WaitingModels();
    const all = askModels(names, models.ask, controller.signal);
    controller.abort();
    await models.answer('a');
    await models.answer('b');
    await all;
    expect(models.begun).toEqual(['a', 'b']);
  });
});
