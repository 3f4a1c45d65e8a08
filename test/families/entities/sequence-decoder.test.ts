import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entityResult, logProbabilities, SequenceDecoder } from '../../../src/families/entities/bio-decoding.js';
import { bioConstraints, spansOf } from '../../../src/families/entities/bio-tags.js';
import { blendEmissions, blendTransitions, type TagWeights } from '../../../src/families/entities/calibration.js';
import { runToEnd } from '../../../src/system/pauses.js';
import { everyPath } from '../../lexical/crf/every-path.js';

const tags = ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'];
const constraints = bioConstraints(tags);
const score = fc.double({ min: -3, max: 3, noNaN: true });
const scores = (length: number) =>
  fc.array(score, { minLength: length, maxLength: length }).map((values) => Float32Array.from(values));

/** What two experts say of 1 to 4 words, how they are weighed, and the CRF's transitions. */
const sentences = fc.integer({ min: 1, max: 4 }).chain((words) =>
  fc.record({
    words: fc.constant(words),
    evidence: fc.record({ encoder: scores(words * 5), expert: scores(words * 5) }),
    transitions: fc.record({ start: scores(5), between: scores(25) }),
    weights: fc.record({
      encoder: fc.double({ min: 0, max: 2, noNaN: true }),
      expert: fc.double({ min: 0, max: 2, noNaN: true }),
      bias: fc.constantFrom<TagWeights['bias']>([], [-0.5, 0, 0, 0, 0]),
    }),
  }),
);

describe('SequenceDecoder', () => {
  it('finds the entities of the likeliest of all valid paths, with the share of the paths that have them', () => {
    fc.assert(
      fc.property(sentences, ({ words, evidence, transitions, weights }) => {
        const decoder = new SequenceDecoder(tags, constraints, transitions, weights);
        const paths = everyPath({
          words,
          tags: 5,
          emissions: blendEmissions(evidence, weights),
          transitions: blendTransitions(constraints, transitions, weights.expert),
        }).map(({ path, weight }) => ({ names: path.map((id) => tags[id] ?? ''), weight }));
        const total = paths.reduce((sum, { weight }) => sum + weight, 0);
        const found = decoder.tagsOf(evidence);
        const own = paths.find(({ names }) => names.join() === found.join())?.weight ?? 0;
        expect(own).toBeGreaterThanOrEqual(Math.max(...paths.map(({ weight }) => weight)) * (1 - 1e-5));
        expect(runToEnd(decoder.entities(evidence)).map(({ score: _, ...span }) => span)).toEqual(spansOf(found));
        for (const { score, ...span } of runToEnd(decoder.entities(evidence))) {
          const same = ({ type, start, end }: typeof span) =>
            type === span.type && start === span.start && end === span.end;
          const share = paths
            .filter(({ names }) => spansOf(names).some(same))
            .reduce((sum, { weight }) => sum + weight, 0);
          expect(score).toBeCloseTo(share / total, 5);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('never continues an entity that has not begun, however sure both experts are', () => {
    const wanted = Float32Array.from([2, 4, 2, 4, 4].flatMap((tag) => tags.map((_, id) => (id === tag ? 9 : 0))));
    const transitions = { start: new Float32Array(5), between: new Float32Array(25) };
    const weights = { encoder: 1, expert: 1, bias: [] };
    const found = new SequenceDecoder(tags, constraints, transitions, weights).tagsOf({
      encoder: wanted,
      expert: wanted,
    });
    let open = '';
    for (const tag of found) {
      if (tag.startsWith('I-')) expect(open).toBe(tag.slice(2));
      open = tag.slice(2);
    }
  });

  it('gives the probabilities of given entities', () => {
    // One word; O, B-PER and B-LOC with logits ln 5, ln 3 and ln 2.
    const encoder = Float32Array.of(Math.log(5), Math.log(3), -50, Math.log(2), -50);
    const transitions = { start: new Float32Array(5), between: new Float32Array(25) };
    const decoder = new SequenceDecoder(tags, constraints, transitions, { encoder: 1, expert: 0, bias: [] });
    const evidence = { encoder, expert: new Float32Array(5) };
    expect(runToEnd(decoder.entities(evidence))).toEqual([]);
    const spans = ['PER', 'LOC'].map((type) => ({ type, start: 0, end: 1 }));
    expect(decoder.scored(evidence, spans).map((entity) => entity.score)).toEqual([
      expect.closeTo(0.3, 6),
      expect.closeTo(0.2, 6),
    ]);
  });

  it('finds nothing if there are no words', () => {
    const transitions = { start: new Float32Array(5), between: new Float32Array(25) };
    const decoder = new SequenceDecoder(tags, constraints, transitions, { encoder: 1, expert: 1, bias: [] });
    const evidence = { encoder: new Float32Array(), expert: new Float32Array() };
    expect(decoder.tagsOf(evidence)).toEqual([]);
    expect(runToEnd(decoder.entities(evidence))).toEqual([]);
  });
});

describe('logProbabilities', () => {
  it('are those of a softmax over each word, even for large logits', () => {
    const logits = Float32Array.of(Math.log(1), Math.log(3), 500, 500);
    expect([...logProbabilities(logits, 2)].map(Math.exp)).toEqual(
      [0.25, 0.75, 0.5, 0.5].map((share) => expect.closeTo(share, 6)),
    );
  });
});

describe('entityResult', () => {
  it('gives each entity as the text has it, spacing and all', () => {
    const text = 'So Ada  Lovelace wrote';
    const words = [
      { text: 'So', start: 0 },
      { text: 'Ada', start: 3 },
      { text: 'Lovelace', start: 8 },
      { text: 'wrote', start: 17 },
    ];
    expect(entityResult(text, words, [{ type: 'PER', start: 1, end: 3, score: 0.75 }])).toEqual({
      labels: ['PER'],
      scores: [0.75],
      tokens: ['Ada  Lovelace'],
      token_start_positions: [3],
    });
  });
});
