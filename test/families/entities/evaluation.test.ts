import { describe, expect, it } from 'vitest';
import { bioConstraints } from '../../../src/families/entities/bio-tags.js';
import { sequenceEvaluation as sequenceEvaluationSteps } from '../../../src/families/entities/evaluation.js';
import { modelEvaluationSchema } from '../../../src/models/index.js';
import { atOnce } from '../../support/at-once.js';

const evaluate = atOnce(sequenceEvaluationSteps);
const sequenceEvaluation = (...given: Parameters<typeof evaluate>) => evaluate(...given).evaluation;

const tags = ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC', 'B-ORG'];
const NEVER = -60;

/** Log-probabilities of the tags of one word; those not named are out of the question. */
function word(shares: Readonly<Record<string, number>>): number[] {
  return tags.map((tag) => (shares[tag] === undefined ? NEVER : Math.log(shares[tag])));
}

const idsOf = (...names: readonly string[]) => names.map((name) => tags.indexOf(name));

const sentences = [
  // Right, with 0.9.
  {
    words: ['Ada', 'left'],
    tags: idsOf('B-PER', 'O'),
    said: [word({ 'B-PER': 0.9, O: 0.1 }), word({ O: 1 })],
  },
  // Of another type than it says, with 0.7.
  {
    words: ['In', 'Paris'],
    tags: idsOf('O', 'B-LOC'),
    said: [word({ O: 1 }), word({ 'B-PER': 0.7, 'B-LOC': 0.3 })],
  },
  // Left out: an entity to which it gives 0.2.
  {
    words: ['Rome', 'fell'],
    tags: idsOf('B-LOC', 'O'),
    said: [word({ O: 0.8, 'B-LOC': 0.2 }), word({ O: 1 })],
  },
] as const;

const transitions = { start: new Float32Array(6), between: new Float32Array(36) };
const evaluation = sequenceEvaluation(
  { tags, dev: sentences },
  {
    constraints: bioConstraints(tags),
    sentences: sentences.map(({ said, tags: ids }) => {
      const encoder = Float32Array.from(said.flat());
      return { encoder, expert: new Float32Array(encoder.length), transitions, tags: ids };
    }),
  },
  { encoder: 1, expert: 0, bias: [] },
);

describe('sequenceEvaluation, by hand', () => {
  it('counts precision, recall, F1 and support of each entity type, even without an entity in dev', () => {
    expect(evaluation.classes).toEqual([
      { label: 'PER', precision: 0.5, recall: 1, f1: 2 / 3, support: 1 },
      { label: 'LOC', precision: 0, recall: 0, f1: 0, support: 2 },
      { label: 'ORG', precision: 0, recall: 0, f1: 0, support: 0 },
    ]);
    expect(evaluation.rows).toBe(3);
  });

  it('lists sentences whose entities differ, scored by an entity wrongly found or by one left out', () => {
    expect(evaluation.mistakes).toEqual([
      { text: 'Rome fell', expected: ['Rome (LOC)'], predicted: [], score: expect.closeTo(0.8, 5) },
      {
        text: 'In Paris',
        expected: ['Paris (LOC)'],
        predicted: ['Paris (PER)'],
        score: expect.closeTo(0.7, 5),
      },
    ]);
  });

  it('counts every entity found as one decision', () => {
    expect(evaluation.calibration?.bins).toEqual([
      { confidence: expect.closeTo(0.7, 5), accuracy: 0, rows: 1 },
      { confidence: expect.closeTo(0.9, 5), accuracy: 1, rows: 1 },
    ]);
    expect(evaluation.calibration?.error).toBeCloseTo((0.7 + 0.1) / 2, 5);
  });

  it('fits the schema of evaluation.json', () => {
    expect(modelEvaluationSchema.safeParse(JSON.parse(JSON.stringify(evaluation))).success).toBe(true);
  });

  it('has no calibration if no entity was found', () => {
    const encoder = Float32Array.from(word({ O: 1 }));
    const { calibration, mistakes } = sequenceEvaluation(
      { tags, dev: [{ words: ['so'], tags: idsOf('O') }] },
      {
        constraints: bioConstraints(tags),
        sentences: [{ encoder, expert: new Float32Array(6), transitions, tags: idsOf('O') }],
      },
      { encoder: 1, expert: 0, bias: [] },
    );
    expect(calibration).toBeUndefined();
    expect(mistakes).toEqual([]);
  });
});
