import { describe, expect, it } from 'vitest';
import type { JudgedRows } from '../../../src/families/classification/few-rows.js';
import { labelNoiseOf, labelNoiseWarnings } from '../../../src/families/classification/label-noise.js';
import { softmax } from '../../../src/families/softmax.js';
import { Random } from '../../../src/system/numbers.js';
import { atOnce } from '../../support/at-once.js';

const labelNoise = atOnce(labelNoiseOf);

/** Rows as models say, the lexical expert being silent. @param logits of each row: [outputs] */
function judgedRows(labelIds: readonly (readonly number[])[], logits: readonly (readonly number[])[]): JudgedRows {
  const encoder = Float32Array.from(logits.flat());
  return {
    rows: labelIds.map((ids, at) => ({ text: `row ${at}`, labelIds: ids, line: at + 2 })),
    encoder,
    expert: new Float32Array(encoder.length),
    coverages: new Float64Array(labelIds.length),
  };
}

/** Labels drawn from softmax(logits), then replaced by another one with the probability `share`. */
function drawnRows(count: number, outputs: number, share: number, seed: number) {
  const random = Random.fromSeed(seed);
  const labels = Array.from({ length: outputs }, (_, id) => `label ${id}`);
  const wrong = new Set<string>();
  const logits = Array.from({ length: count }, () => labels.map(() => 12 * (random.uniform() - 0.5)));
  const given = logits.map((row, at) => {
    const drawn = random.uniform();
    const shares = softmax(Float64Array.from(row));
    const id = Math.max(
      0,
      shares.findIndex((_, end) => shares.slice(0, end + 1).reduce((a, b) => a + b) > drawn),
    );
    if (random.uniform() >= share) return id;
    wrong.add(`row ${at}`);
    return (id + 1 + random.integer(outputs - 1)) % outputs;
  });
  return { labels, wrong, logits, given };
}

describe('the share of wrong labels', () => {
  for (const outputs of [3, 12]) {
    for (const share of [0, 0.05, 0.2]) {
      it(`is found where ${share} of ${outputs} labels were replaced`, () => {
        const { labels, wrong, logits, given } = drawnRows(3000, outputs, share, outputs);
        const ids = given.map((id) => [id]);
        const noise = labelNoise({ kind: 'multiclass', labels }, judgedRows(ids, logits));
        expect(noise.isEvident).toBe(share > 0);
        expect(Math.abs(noise.share - share)).toBeLessThan(0.02);
        expect(Math.abs(noise.wrong - wrong.size)).toBeLessThan(0.02 * 3000);
        const first = noise.doubtful.slice(0, wrong.size / 2);
        expect(first.filter(({ text }) => wrong.has(text)).length).toBeGreaterThanOrEqual(0.85 * first.length);
      });
    }
  }

  it('is found for two labels, of which a model has one logit', () => {
    const { logits, given, wrong } = drawnRows(3000, 2, 0.1, 5);
    const ids = given.map((id) => [id]);
    const margins = logits.map(([no = 0, yes = 0]) => [yes - no]);
    const noise = labelNoise({ kind: 'binary', labels: ['no', 'yes'] }, judgedRows(ids, margins));
    expect(noise.isEvident).toBe(true);
    expect(Math.abs(noise.wrong - wrong.size)).toBeLessThan(60);
    const unflipped = drawnRows(3000, 2, 0, 6);
    const clean = judgedRows(
      unflipped.given.map((id) => [id]),
      unflipped.logits.map(([no = 0, yes = 0]) => [yes - no]),
    );
    expect(labelNoise({ kind: 'binary', labels: ['no', 'yes'] }, clean).isEvident).toBe(false);
  });
});

describe('the share of wrong labels in rows with several', () => {
  it('counts labels that are replaced, though most decisions are against a label', () => {
    const random = Random.fromSeed(9);
    const labels = Array.from({ length: 10 }, (_, id) => `label ${id}`);
    const sets = (share: number) => {
      const wrong = new Set<string>();
      const logits = Array.from({ length: 2000 }, () => labels.map(() => 10 * (random.uniform() - 0.75)));
      const ids = logits.map((row, at) => {
        const right = [...row.keys()].filter((id) => random.uniform() < 1 / (1 + Math.exp(-(row[id] ?? 0))));
        const [first] = right;
        if (first === undefined || random.uniform() >= share) return right;
        wrong.add(`row ${at}`);
        const others = [...labels.keys()].filter((id) => !right.includes(id));
        return [...right.slice(1), others[random.integer(others.length)] ?? 0];
      });
      return { wrong, noise: labelNoise({ kind: 'multilabel', labels }, judgedRows(ids, logits)) };
    };
    expect(sets(0).noise.isEvident).toBe(false);
    const { wrong, noise } = sets(0.2);
    expect(noise.isEvident).toBe(true);
    expect(Math.abs(noise.wrong - wrong.size)).toBeLessThan(0.2 * wrong.size);
    const first = noise.doubtful.slice(0, wrong.size / 2);
    expect(first.filter(({ text }) => wrong.has(text)).length).toBeGreaterThanOrEqual(0.8 * first.length);
  });
});

describe('doubtful labels', () => {
  it('are those that are not the most probable, the least probable first', () => {
    const logits = [
      [2, 0, 0],
      [0, 1, 0],
      [0, 3, 1],
      [0, 0, 2],
    ];
    // Rows 1 and 2 are labelled a where b is more probable, row 2 by more.
    const { doubtful, judged } = labelNoise(
      { kind: 'multiclass', labels: ['a', 'b', 'c'] },
      judgedRows([[0], [0], [0], [2]], logits),
    );
    expect(judged).toBe(4);
    expect(doubtful).toMatchObject([
      { text: 'row 2', line: 4, given: ['a'], suggested: ['b'] },
      { text: 'row 1', line: 3, given: ['a'], suggested: ['b'] },
    ]);
    for (const { probability, alternative } of doubtful) expect(probability).toBeLessThan(alternative);
  });

  it('may be one too many or one too few, where rows have several', () => {
    const logits = [
      [3, -3],
      [3, 4],
      [-2, 3],
      [-3, -3],
      [3, -3],
      [-3, 3],
    ];
    const ids = [[0], [0], [0, 1], [], [0], [1]];
    const { doubtful } = labelNoise({ kind: 'multilabel', labels: ['a', 'b'] }, judgedRows(ids, logits));
    expect(doubtful.map(({ text, given, suggested }) => [text, given, suggested])).toEqual([
      ['row 1', ['a'], ['a', 'b']],
      ['row 2', ['a', 'b'], ['b']],
    ]);
  });
});

describe('the warning', () => {
  const row = (at: number) => ({
    ...{ text: `row ${at}`, line: at, given: ['a'], suggested: ['b'] },
    ...{ probability: 0.01, alternative: 0.9 },
  });
  const noise = {
    judged: 90,
    share: 0.1,
    wrong: 7.4,
    isEvident: true,
    doubtful: Array.from({ length: 20 }, (_, at) => row(at)),
  };

  it('says how many, and names the likeliest five', () => {
    const [warning, ...others] = labelNoiseWarnings(noise, 'train.tsv');
    expect(others).toEqual([]);
    expect(warning).toMatchObject({ kind: 'doubtful_label', count: 7 });
    expect(warning?.examples).toEqual([0, 1, 2, 3, 4].map((line) => ({ file: 'train.tsv', line })));
    expect(warning?.message).toMatch(/about 7 of 90 rows .*"row 0" \(a; suggested: b\).*orchard check/);
  });

  it('is left out without evidence', () => {
    expect(labelNoiseWarnings({ ...noise, isEvident: false }, 'train.tsv')).toEqual([]);
    expect(labelNoiseWarnings({ ...noise, wrong: 0.3 }, 'train.tsv')).toEqual([]);
  });
});
