import { describe, expect, it } from 'vitest';
import { calibrate, type FrozenWeights } from '../../src/engine/index.js';
import { type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import type { Encoding } from '../../src/text/index.js';
import { loopInput } from '../training/loop-input.js';
import { classes, learnerOf } from './small-tasks.js';

const executor = onnxExecutor();

async function aModel() {
  const task = classes();
  const { encoder, train } = loopInput(task, '');
  const learning = await learnerOf(task, 0);
  const weights = await learning.engine.store.copyWeights();
  await learning.release();
  const encodings = train.map(({ encoding }) => encoding);
  const fixed: FrozenWeights = { weights };
  const rangesOf = async (texts: readonly Encoding[], by: GraphExecutor = executor) =>
    (await calibrate(by, task.head, encoder, fixed, texts)).linear;
  return { encodings, rangesOf };
}

/** An executor that notes the ids of each text that its graphs run. */
function watched(ran: string[]): GraphExecutor {
  return {
    ...executor,
    async compile(graph, options) {
      const compiled = await executor.compile(graph, options);
      return {
        run(feeds, outputs) {
          ran.push(String(feeds.ids?.data));
          return compiled.run(feeds, outputs);
        },
        release: () => compiled.release(),
      };
    },
  };
}

describe('the ranges of activations', () => {
  it('of several texts are those of each text together', async () => {
    const { encodings, rangesOf } = await aModel();
    const texts = encodings.slice(0, 5);
    const together = await rangesOf(texts);
    const alone = await Promise.all(texts.map((text) => rangesOf([text])));
    expect(together.size).toBeGreaterThan(0);
    for (const [layer, range] of together) {
      const each = alone.map((ranges) => ranges.get(layer));
      const min = Math.min(...each.map((one) => one?.min ?? Number.NaN));
      const max = Math.max(...each.map((one) => one?.max ?? Number.NaN));
      expect(range, layer).toEqual({ min, max });
      expect(min, layer).toBeLessThan(0);
      expect(max, layer).toBeGreaterThan(0);
    }
  });

  it('are those of 128 texts, evenly spaced, if there are more', async () => {
    const { encodings, rangesOf } = await aModel();
    const [first, second] = encodings;
    if (first === undefined || second === undefined) return expect.fail('there are no texts');
    const ran: string[] = [];
    const ranFirst: string[] = [];
    await rangesOf([first], watched(ranFirst));
    // Every other text is the second, of which an even spacing takes none.
    await rangesOf(
      Array.from({ length: 256 }, (_, at) => (at % 2 === 0 ? first : second)),
      watched(ran),
    );
    expect(ran).toHaveLength(128);
    expect(new Set(ran)).toEqual(new Set(ranFirst));
  });
});
