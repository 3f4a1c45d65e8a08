import { named, type UpdatedParameter, type UpdateRule } from './optimizer.js';

/** Names of AdamW's slots. */
export const FIRST_MOMENTS = 'first';
export const SECOND_MOMENTS = 'second';

/** What AdamW's update depends on; see `AdamWOptions`. */
interface AdamWNumbers {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
}

/**
 * AdamW in a graph: what the kernel `adamW` computes, but for rounding. Every operation is a pass over memory, so what
 * depends on the step alone is folded into five numbers:
 * m ← β₁·m + firstShare·g, v ← β₂·v + secondShare·g², w ← shrink·w − rate·m / (√v + epsilon),
 * with firstShare = (1 − β₁)·s and secondShare = (1 − β₂)·s² for the scale s of the gradients, and the correction of
 * both moments in rate and epsilon.
 */
export function adamWUpdate({ beta1, beta2, epsilon, weightDecay }: AdamWNumbers): UpdateRule {
  return {
    scalars: ['firstShare', 'secondShare', 'rate', 'epsilon', 'shrink'],
    scalarsAt({ step, learningRate, gradientScale }) {
      const root = Math.sqrt(1 - beta2 ** step);
      return {
        firstShare: (1 - beta1) * gradientScale,
        secondShare: (1 - beta2) * gradientScale ** 2,
        rate: (learningRate * root) / (1 - beta1 ** step),
        epsilon: epsilon * root,
        shrink: 1 - learningRate * weightDecay,
      };
    },
    add(graph, { weights, gradients, slots, scalars, decay }: UpdatedParameter) {
      const scalar = (name: string) => named(scalars, name);
      const squares = graph.multiply(gradients, gradients);
      const first = graph.add(
        graph.scale(named(slots, FIRST_MOMENTS), beta1),
        graph.multiply(gradients, scalar('firstShare')),
      );
      const second = graph.add(
        graph.scale(named(slots, SECOND_MOMENTS), beta2),
        graph.multiply(squares, scalar('secondShare')),
      );
      const direction = graph.divide(first, graph.add(graph.sqrt(second), scalar('epsilon')));
      const kept = decay ? graph.multiply(weights, scalar('shrink')) : weights;
      return {
        weights: graph.subtract(kept, graph.multiply(direction, scalar('rate'))),
        slots: new Map([
          [FIRST_MOMENTS, first],
          [SECOND_MOMENTS, second],
        ]),
      };
    },
  };
}
