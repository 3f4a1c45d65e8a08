import { describe, expect, it } from 'vitest';
import { backboneLearningRate } from '../../src/training/hyperparameters.js';

describe('the default learning rate from a backbone', () => {
  it.each([
    ['mini', 4, 256, 3e-4],
    ['base and MiniLM-L6', 6, 384, 3e-4],
    ['e5-small and MiniLM-L12', 12, 384, 1e-4],
    ['DistilBERT', 6, 768, 1e-4],
    ['BERT base', 12, 768, 5e-5],
    ['ModernBERT base', 22, 768, 2.7e-5],
    ['BERT large', 24, 1024, 1.9e-5],
  ])('goes by depth and width: %s', (_, layers, width, rate) => {
    expect(backboneLearningRate({ layers, width })).toBe(rate);
  });
});
