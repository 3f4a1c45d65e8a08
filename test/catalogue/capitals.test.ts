import { describe, expect, it } from 'vitest';
import { showCapitals } from '../../models/recipes/backbones/distillation/capitals.js';
import { planNamed } from '../../models/recipes/backbones/distillation/plan.js';
import { plans } from '../../models/recipes/backbones/english/plans.js';
import { encodingOf } from '../../models/recipes/backbones/student/objective.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

const tokenizer = loadTokenizer(englishTokenizer());
const passages = Array.from({ length: 400 }, (_, at) => (at % 2 === 0 ? 'we met Ann' : 'ANN met us'));
const encodings = passages.map((passage) => encodingOf(tokenizer.encode(passage).ids));
const places = [...passages.keys()];

const shown = (share: number, step: number) =>
  showCapitals(encodings, places, { share, passages, tokenizer }, 7, step).map(({ typeIds }) => [...typeIds]);

describe('capitals that a student sees by token types', () => {
  it('are those of its own passage, [CLS] and [SEP] having none', () => {
    expect(shown(1, 1).slice(0, 2)).toEqual([
      [0, 0, 0, 1, 0],
      [0, 1, 0, 0, 0],
    ]);
    const [second] = showCapitals(encodings.slice(0, 1), [2], { share: 1, passages, tokenizer }, 7, 1);
    expect([...(second?.typeIds ?? [])]).toEqual([0, 0, 0, 1, 0]);
  });

  it('are shown for the share of the passages that the plan names, for others in each step, again in a step done again', () => {
    const { capitalsShare } = planNamed('e5-bge-capitals', plans);
    const [first, again, next] = [3, 3, 4].map((step) => shown(capitalsShare, step));
    expect(again).toEqual(first);
    expect(next).not.toEqual(first);
    const marked = first?.filter((types) => types.includes(1)).length;
    expect(marked).toBeGreaterThan(160);
    expect(marked).toBeLessThan(240);
    expect(planNamed('e5-bge', plans).capitalsShare).toBe(0);
  });

  it('of another corpus than that of the targets are refused', () => {
    const other = ['a text of quite another length'];
    expect(() => showCapitals(encodings.slice(0, 1), [0], { share: 1, passages: other, tokenizer }, 7, 1)).toThrow(
      'passage 0 has other tokens than its targets',
    );
  });
});
