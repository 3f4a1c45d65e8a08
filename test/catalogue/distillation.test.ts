import { describe, expect, it } from 'vitest';
import { type Curriculum, curriculum } from '../../models/recipes/backbones/distillation/courses.js';
import { distillationHead } from '../../models/recipes/backbones/distillation/distillation-head.js';
import { asPlanned, distillationFeeds, type TaughtText } from '../../models/recipes/backbones/distillation/feeds.js';
import { weighedPlan } from '../../models/recipes/backbones/distillation/plan.js';
import { relationsLoss } from '../../models/recipes/backbones/distillation/relations-loss.js';
import { Graph, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { tinyBert } from '../support/tiny-bert.js';

const random = Random.fromSeed(5);
const HIDDEN = 4;
const widths = new Map([
  ['words', 6],
  ['sentences', 8],
]);

/** Vectors of the whole passage and then of each span, as bytes, with a scale each. */
interface Stored {
  readonly codes: readonly Int8Array[];
  readonly scales: readonly number[];
}

interface MadeText {
  readonly length: number;
  readonly spans: readonly { start: number; end: number }[];
  readonly stored: ReadonlyMap<string, Stored>;
}

/** Passages of 4 to 8 tokens with a span for each but the first and last token, the first span of two tokens. */
const texts = Array.from({ length: 3 }, (_, at): MadeText => {
  const length = 4 + 2 * at;
  const spans = [{ start: 1, end: 3 }, ...Array.from({ length: length - 4 }, (_, i) => ({ start: i + 3, end: i + 4 }))];
  const rows = (width: number): Stored => ({
    codes: [0, ...spans].map(() => Int8Array.from({ length: width }, () => random.integer(255) - 127)),
    scales: [0, ...spans].map(() => 0.01 + 0.01 * random.uniform()),
  });
  const words = ['last', 'queries-2', 'keys-2', 'values-2'].map((track) => [`words ${track}`, rows(6)] as const);
  return { length, spans, stored: new Map([...words, ['sentences last', rows(8)]]) };
});
const columns = texts.length * 8;

const taught = (teacher: string): TaughtText[] =>
  texts.map(({ length, spans, stored }) => ({
    tokens: length,
    spans,
    rows(track) {
      const found = stored.get(`${teacher} ${track}`);
      return {
        codes: (row) => found?.codes[row] ?? new Int8Array(),
        scale: (row) => found?.scales[row] ?? 0,
      };
    },
  }));

/** The mean of the states of a text's tokens. */
function meanState(states: Float32Array, place: number, { start, end }: { start: number; end: number }): number[] {
  return Array.from({ length: HIDDEN }, (_, i) => {
    let sum = 0;
    for (let token = start; token < end; token += 1) {
      sum += states[(token * texts.length + place) * HIDDEN + i] ?? 0;
    }
    return sum / (end - start);
  });
}

const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;
const dotOf = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0);

/** An encoder that gives the states that it is fed. */
const states = someNumbers(columns * HIDDEN, 1, 2);
const projections = ['words.last.1', 'sentences.last.1'].map((course, at) => {
  const width = at === 0 ? 6 : 8;
  return {
    course,
    width,
    weight: someNumbers(width * HIDDEN, 1, 3 + at),
    bias: someNumbers(width, 0.5, 8 + at),
  };
});

const plan = weighedPlan({
  teachers: [
    {
      name: 'words',
      lessons: [
        { kind: 'passages', weight: 1 },
        { kind: 'spans', weight: 2 },
        { kind: 'spans', track: 'layer-3', weight: 0 },
      ],
    },
    { name: 'sentences', lessons: [{ kind: 'passages', weight: 1 }] },
  ],
});
const taughtPlan: Curriculum = curriculum(plan, { layers: 1, width: HIDDEN }, widths);
const statesOnly = distillationHead({ ...tinyBert, width: HIDDEN }, taughtPlan);

/** The loss vector by vector. */
function plainLoss(): number {
  const cosine = (projection: number, place: number, row: number, teacher: string) => {
    const { weight, bias, width } = projections[projection] ?? { weight: [], bias: [], width: 0 };
    const text = texts[place];
    const range = row === 0 ? { start: 0, end: text?.length ?? 0 } : text?.spans[row - 1];
    const average = meanState(states, place, range ?? { start: 0, end: 1 });
    const projected = Array.from({ length: width }, (_, o) =>
      average.reduce((sum, x, i) => sum + x * (weight[o * HIDDEN + i] ?? 0), bias[o] ?? 0),
    );
    const target = text?.stored.get(`${teacher} last`)?.codes[row] ?? new Int8Array();
    return dotOf(projected, target) / (Math.hypot(...projected) * Math.hypot(...target));
  };
  const passages = (projection: number, teacher: string) =>
    mean(texts.map((_, place) => cosine(projection, place, 0, teacher)));
  const spans = mean(texts.flatMap((text, place) => text.spans.map((_, at) => cosine(0, place, at + 1, 'words'))));
  return 1 - (passages(0, 'words') + 2 * spans + passages(1, 'sentences')) / 4;
}

describe('the loss of several teachers', () => {
  const feeds = distillationFeeds(taughtPlan, taught);
  const parameters = new Map<string, { dims: readonly number[]; values: Float32Array }>([
    ['states', { dims: [columns, HIDDEN], values: states }],
  ]);
  for (const { course, width, weight, bias } of projections) {
    parameters.set(`projection.${course}.weight`, { dims: [width, HIDDEN], values: weight });
    parameters.set(`projection.${course}.bias`, { dims: [width], values: bias });
  }
  const loss = (graph: Graph) => statesOnly.loss(graph, graph.parameter('states', ['tokens*batch', HIDDEN]));

  it('is the weighted mean of 1 − cosine over passages and spans, each teacher with its projection', async () => {
    const graph = new Graph();
    graph.output('loss', loss(graph));
    const compiled = await onnxExecutor().compile(graph);
    const value = new Float32Array(1);
    const fed = [...parameters].map(([name, { dims, values }]): [string, TensorData] => [
      name,
      { type: 'float32', dims, data: values },
    ]);
    await compiled.run({ ...feeds, ...Object.fromEntries(fed) }, { loss: { type: 'float32', dims: [], data: value } });
    await compiled.release();
    expect(value[0]).toBeCloseTo(plainLoss(), 5);
  });

  it('has the gradients that finite differences have', async () => {
    expect(await gradientError({ parameters, feeds, loss })).toBeLessThan(1e-3);
  });

  it('computes nothing for a lesson that weighs nothing', () => {
    expect(taughtPlan.courses.map(({ name }) => name)).toEqual(['words.last.1', 'sentences.last.1']);
    expect(feeds['sentences.last.1 targets']?.dims).toEqual([3, 1, 8]);
  });
});

describe('the loss of relations', () => {
  const [relations] = curriculum(
    weighedPlan({
      teachers: [{ name: 'words', lessons: [{ kind: 'relations', layer: 2, heads: 2, weight: 1 }] }],
    }),
    { layers: 1, width: HIDDEN },
    widths,
  ).relations;
  if (relations === undefined) throw new Error('no relations');
  const feeds = distillationFeeds({ courses: [], relations: [relations] }, taught, asPlanned);
  const parts = ['q', 'k', 'v'].map((name, at) => ({
    name,
    values: someNumbers(columns * HIDDEN, 2, 20 + at),
  }));
  const loss = (graph: Graph) =>
    relationsLoss(
      graph,
      parts.map(({ name }) => graph.parameter(name, ['tokens*batch', HIDDEN])),
      relations,
    );
  const parameters = new Map(parts.map(({ name, values }) => [name, { dims: [columns, HIDDEN], values }]));

  /** softmax(xᵢ·xⱼ/√d) of one head. */
  function distributions(vectors: readonly (readonly number[])[], head: number): number[][] {
    const width = (vectors[0]?.length ?? 0) / 2;
    const own = vectors.map((vector) => vector.slice(head * width, (head + 1) * width));
    return own.map((x) => {
      const powers = own.map((y) => Math.exp(dotOf(x, y) / Math.sqrt(width)));
      const sum = powers.reduce((total, power) => total + power, 0);
      return powers.map((power) => power / sum);
    });
  }

  it('is the divergence of the distributions that spans have over spans, of three kinds', async () => {
    let expected = 0;
    const spanCount = texts.reduce((sum, { spans }) => sum + spans.length, 0);
    for (const [at, track] of relations.tracks.entries()) {
      for (const [place, text] of texts.entries()) {
        const stored = text.stored.get(`words ${track}`);
        const teacher = text.spans.map((_, span) =>
          [...(stored?.codes[span + 1] ?? [])].map((code) => code * (stored?.scales[span + 1] ?? 0)),
        );
        const student = text.spans.map((span) => meanState(parts[at]?.values ?? states, place, span));
        for (const head of [0, 1]) {
          const [right, found] = [distributions(teacher, head), distributions(student, head)];
          for (const [i, row] of right.entries()) {
            for (const [j, p] of row.entries()) expected += (p * Math.log(p / (found[i]?.[j] ?? 1))) / (2 * spanCount);
          }
        }
      }
    }
    const graph = new Graph();
    graph.output('loss', loss(graph));
    const compiled = await onnxExecutor().compile(graph);
    const value = new Float32Array(1);
    const fed = parts.map(({ name, values }): [string, TensorData] => [
      name,
      { type: 'float32', dims: [columns, HIDDEN], data: values },
    ]);
    const { total, ...rest } = feeds;
    expect(total?.data[0]).toBe(0);
    await compiled.run({ ...rest, ...Object.fromEntries(fed) }, { loss: { type: 'float32', dims: [], data: value } });
    await compiled.release();
    expect(value[0]).toBeCloseTo(expected, 4);
  });

  it('has the gradients that finite differences have', async () => {
    const { total: _, ...rest } = feeds;
    expect(await gradientError({ parameters, feeds: rest, loss })).toBeLessThan(1e-3);
  });

  it('needs heads that divide both widths', () => {
    const uneven = weighedPlan({
      teachers: [{ name: 'words', lessons: [{ kind: 'relations', layer: 2, heads: 4, weight: 1 }] }],
    });
    expect(() => curriculum(uneven, { layers: 1, width: HIDDEN }, widths)).toThrow('divide a width of 6');
  });
});
