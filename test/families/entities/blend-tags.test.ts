import { describe, expect, it } from 'vitest';
import { bioConstraints } from '../../../src/families/entities/bio-tags.js';
import {
  blendEmissions,
  blendTransitions,
  fitTagWeights as fitTagWeightsSteps,
  type JudgedSentence,
  sentenceLosses as sentenceLossesSteps,
  type TagBlendRows,
  type TagWeights,
} from '../../../src/families/entities/calibration.js';
import { Random } from '../../../src/system/numbers.js';
import { everyPath } from '../../lexical/crf/every-path.js';
import { atOnce } from '../../support/at-once.js';

const fitTagWeights = atOnce(fitTagWeightsSteps);
const sentenceLosses = atOnce(sentenceLossesSteps);

const tags = ['O', 'B-X', 'I-X'];
const constraints = bioConstraints(tags);
const WORDS = 4;

/** Sentences whose tags are drawn from the very model that the weights make of the experts. */
function drawn(count: number, weights: TagWeights, seed: number): TagBlendRows {
  const random = Random.fromSeed(seed);
  const noise = (length: number) => Float32Array.from({ length }, () => 1.5 * random.normal());
  const transitions = { start: noise(3), between: noise(9) };
  const sentences = Array.from({ length: count }, () => {
    const evidence = { encoder: noise(3 * WORDS), expert: noise(3 * WORDS) };
    const paths = pathsOf({ ...evidence, transitions }, weights);
    const total = paths.reduce((sum, { weight }) => sum + weight, 0);
    let left = random.uniform() * total;
    const chosen = paths.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    return { ...evidence, transitions, tags: chosen?.path ?? [] };
  });
  return { constraints, sentences };
}

function pathsOf(sentence: Omit<JudgedSentence, 'tags'>, weights: TagWeights) {
  return everyPath({
    words: WORDS,
    tags: 3,
    emissions: blendEmissions(sentence, weights),
    transitions: blendTransitions(constraints, sentence.transitions, weights.expert),
  });
}

/** −log of the probability of all tags, path by path. */
function lossOf(rows: TagBlendRows, weights: TagWeights): number {
  return rows.sentences.reduce((sum, sentence) => {
    const paths = pathsOf(sentence, weights);
    const total = paths.reduce((all, { weight }) => all + weight, 0);
    const own = paths.find(({ path }) => path.join() === sentence.tags.join())?.weight ?? 0;
    return sum - Math.log(own / total);
  }, 0);
}

const ENCODER = { encoder: 1, expert: 0 };
const EXPERT = { encoder: 0, expert: 1 };

describe('blending what two experts say of tags', () => {
  it('adds weighted scores and the bias of each tag', () => {
    const evidence = { encoder: Float32Array.of(1, 2, 3, 4), expert: Float32Array.of(10, 20, 30, 40) };
    expect([...blendEmissions(evidence, { encoder: 2, expert: 0.5, bias: [] })]).toEqual([7, 14, 21, 28]);
    expect([...blendEmissions(evidence, { encoder: 2, expert: 0.5, bias: [-1, 1] })]).toEqual([6, 15, 20, 29]);
  });

  it('forbids what the constraints forbid, even if the expert has no weight', () => {
    const scores = {
      start: Float32Array.of(1, 2, 3),
      between: Float32Array.from({ length: 9 }, (_, at) => at),
    };
    const never = Number.NEGATIVE_INFINITY;
    expect([...blendTransitions(constraints, scores, 2).start]).toEqual([2, 4, never]);
    const without = blendTransitions(constraints, { ...scores, start: Float32Array.of(never, 0, never) }, 0);
    expect([...without.between]).toEqual([0, 0, never, 0, 0, 0, 0, 0, 0]);
  });
});

describe('sentenceLosses', () => {
  it('are −log of the probability of the tags, with the transitions of each sentence', () => {
    const weights = { encoder: 0.7, expert: 1.2, bias: [-0.5, 0, 0.25] };
    const rows = { constraints, sentences: [3, 4].flatMap((seed) => drawn(3, weights, seed).sentences) };
    for (const [at, loss] of sentenceLosses(rows, weights).entries()) {
      const sentences = rows.sentences.slice(at, at + 1);
      expect(loss).toBeCloseTo(lossOf({ constraints, sentences }, weights), 4);
    }
  });
});

describe('fitTagWeights', () => {
  it('finds the weights that tags were drawn with', () => {
    const { encoder, expert } = fitTagWeights(drawn(800, { encoder: 0.6, expert: 1.5, bias: [] }, 3), [
      ENCODER,
      EXPERT,
    ]);
    expect(encoder).toBeGreaterThan(0.5);
    expect(encoder).toBeLessThan(0.7);
    expect(expert).toBeGreaterThan(1.35);
    expect(expert).toBeLessThan(1.65);
  });

  it('finds no less likely weights than any of a grid', () => {
    const rows = drawn(300, { encoder: 1.2, expert: 0.4, bias: [] }, 4);
    const fitted = lossOf(rows, fitTagWeights(rows, [ENCODER, EXPERT]));
    for (let encoder = 0; encoder <= 2; encoder += 0.25) {
      for (let expert = 0; expert <= 2; expert += 0.25) {
        // A pull towards 1 keeps it from the very lowest loss: by 2.5 · ((1.2 − 1)² + (0.4 − 1)²) = 1 at most.
        expect(fitted).toBeLessThan(lossOf(rows, { encoder, expert, bias: [] }) + 1);
      }
    }
  });

  it('gives no weight to an expert that does harm, or that is not to be fitted', () => {
    const rows = drawn(300, { encoder: 1.5, expert: 0, bias: [] }, 5);
    const inverted = {
      ...rows,
      sentences: rows.sentences.map((each) => ({ ...each, expert: each.encoder.map((value) => -value) })),
    };
    expect(fitTagWeights(inverted, [EXPERT]).expert).toBe(0);
    expect(fitTagWeights(rows, [ENCODER]).expert).toBe(0);
  });

  it('stays at weights of 1 if there is nothing to learn from', () => {
    expect(
      fitTagWeights({ ...drawn(1, { encoder: 1, expert: 1, bias: [] }, 6), sentences: [] }, [ENCODER, EXPERT]),
    ).toEqual({
      encoder: 1,
      expert: 1,
      bias: [],
    });
  });
});
