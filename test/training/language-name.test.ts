import { describe, expect, it } from 'vitest';
import { languageName } from '../../src/training/hyperparameters.js';

describe('languageName', () => {
  it.each([
    ['english', 'english'],
    [' English ', 'english'],
    ['en', 'english'],
    ['en-GB', 'english'],
    ['ja_JP', 'japanese'],
    ['DE', 'german'],
    ['klingonese', 'klingonese'],
    ['xx', 'xx'],
  ])('reads %j as %s', (written, name) => {
    expect(languageName(written)).toBe(name);
  });
});
