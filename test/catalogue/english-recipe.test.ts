import { describe, expect, it } from 'vitest';
import { planNamed } from '../../models/recipes/backbones/distillation/plan.js';
import { plans } from '../../models/recipes/backbones/english/plans.js';
import { english } from '../../models/recipes/backbones/english/recipe.js';

describe('an English backbone', () => {
  it.each([
    ['e5-bge', false, 'english-mini', []],
    ['e5-bge-capitals', false, 'english-mini-entities', ['--plan e5-bge-capitals']],
    ['cased', true, 'english-mini-cased', ['--cased']],
  ])('of the plan %s is named by what it is for, and by what asks for it again', (planName, cased, name, options) => {
    const recipe = english({ plan: planNamed(planName, plans), planName, cased });
    expect(recipe.name('mini')).toBe(name);
    expect(recipe.options).toEqual(options);
  });
});
