import { describe, expect, it } from 'vitest';
import { Learner } from '../../src/engine/learner.js';

describe('a learner', () => {
  /** The bounds on the gradients' norm that the engine is given. */
  async function boundsOf(task: { readonly maxGradientNorm?: number }): Promise<unknown[]> {
    const bounds: unknown[] = [];
    const engine: ConstructorParameters<typeof Learner>[0] = {
      steps: 0,
      dropoutState: { seed: 1, position: 0 },
      step: async (_, options) => {
        bounds.push(options?.maxGradientNorm);
        return 1;
      },
    };
    const gradients = { lengths: [3, 2], compute: async () => 0.5 };
    const learner = new Learner(engine, gradients, { batchSize: 1, seed: 1, ...task });
    expect(await learner.step(0.1)).toEqual({ loss: 0.5, examples: 1 });
    expect(learner.state.epoch).toBe(0);
    await learner.step(0.1);
    expect(learner.state.epoch).toBe(1);
    return bounds;
  }

  it('bounds the norm of the gradients by 1, as the fine-tuning of BERT does, or as its task says', async () => {
    expect(await boundsOf({})).toEqual([1, 1]);
    expect(await boundsOf({ maxGradientNorm: 5 })).toEqual([5, 5]);
  });
});
