import { describe, expect, it } from 'vitest';
import type { Scores } from '../../src/families/index.js';
import { emptyStats, withEpoch } from '../../src/training/training-loop.js';

function statsOf(mainMetric: 'accuracy' | 'f1' | undefined, epochs: readonly Scores[]) {
  return epochs.reduce(
    (stats, scores) => withEpoch(stats, { elapsedSeconds: 1, loss: 0.5, scores }),
    emptyStats(8, mainMetric),
  );
}

describe('the statistics of a training run', () => {
  it('have as their best value the highest of the main metric, which never falls', () => {
    const epochs = [0.5, 0.75, 0.25].map((accuracy) => ({ accuracy, f1: 1 - accuracy, value: accuracy }));
    const best = epochs.map((_, index) => statsOf('accuracy', epochs.slice(0, index + 1)).best_eval_metric_value);
    expect(best).toEqual([0.5, 0.75, 0.75]);
    expect(statsOf('f1', epochs)).toMatchObject({ epoch: 3, best_eval_metric_value: 0.75 });
  });

  it('have no best value if ranks are measured', () => {
    const topk = { 1: 0.5, 3: 0.5, 5: 0.5, 10: 1, 20: 1, 100: 1 };
    const stats = statsOf(undefined, [{ topk, value: 0.6 }]);
    expect(stats).not.toHaveProperty('best_eval_metric_value');
    expect(stats.metrics.validation).toEqual({ topk: [topk] });
  });
});
