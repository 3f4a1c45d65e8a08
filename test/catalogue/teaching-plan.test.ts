import { describe, expect, it } from 'vitest';
import { curriculum } from '../../models/recipes/backbones/distillation/courses.js';
import { distillationParameters } from '../../models/recipes/backbones/distillation/distillation-head.js';
import { planNamed, planSchema, tracksOf, weighedPlan } from '../../models/recipes/backbones/distillation/plan.js';
import { tapped } from '../../models/recipes/backbones/distillation/tapped.js';
import { mannersOf } from '../../models/recipes/backbones/distillation/teachers.js';
import { plans } from '../../models/recipes/backbones/english/plans.js';
import { readEncoder, trainingInputs } from '../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../src/engine/index.js';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { someNumbers } from '../support/finite-differences.js';
import { tinyBert } from '../support/tiny-bert.js';

const HIDDEN = 4;
const widths = new Map([
  ['words', 6],
  ['sentences', 8],
]);

describe('a plan', () => {
  it('is refused for a track that has no directions, a teacher twice, or nothing to learn', () => {
    const lessons = [{ kind: 'spans', track: 'queries-2', weight: 1 }];
    expect(planSchema.safeParse({ teachers: [{ name: 'a', lessons }] }).success).toBe(false);
    const twice = { name: 'a', lessons: [{ kind: 'spans' as const, weight: 1 }] };
    expect(() => weighedPlan({ teachers: [twice, twice] })).toThrow('named twice');
    const idle = { name: 'a', lessons: [{ kind: 'spans' as const, weight: 0 }] };
    expect(() => weighedPlan({ teachers: [idle] })).toThrow('no lesson');
  });

  it('tells which tracks of a teacher it reads', () => {
    const [teacher] = weighedPlan({
      teachers: [
        {
          name: 'a',
          lessons: [
            { kind: 'passages', weight: 1 },
            { kind: 'spans', weight: 1 },
            { kind: 'relations', layer: 11, heads: 2, weight: 1 },
          ],
        },
      ],
    }).teachers;
    expect(teacher && tracksOf(teacher)).toEqual(['last', 'queries-11', 'keys-11', 'values-11']);
  });

  it('asks for no layer that the student lacks', () => {
    const deep = weighedPlan({
      teachers: [{ name: 'words', lessons: [{ kind: 'spans', studentLayer: 5, weight: 1 }] }],
    });
    expect(() => curriculum(deep, { layers: 4, width: HIDDEN }, widths)).toThrow('no layer 5, only 4');
  });

  it.each(Object.keys(plans))('of English students fits mini and base, and known teachers: %s', (name) => {
    const english = planNamed(name, plans);
    const known = new Map(
      english.teachers.map((teacher) => [teacher.name, mannersOf(teacher.name).licence === '' ? 0 : 384]),
    );
    for (const shape of [
      { layers: 4, width: 256 },
      { layers: 6, width: 384 },
    ]) {
      const { courses, relations } = curriculum(english, shape, known);
      const weights = [...courses.map((each) => each.passages + each.spans), ...relations.map(({ weight }) => weight)];
      expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 6);
    }
  });

  it('that nobody made is refused by name', () => {
    expect(() => planNamed('everything', plans)).toThrow('no plan everything: give minilm, e5, ');
    expect(() => mannersOf('somebody')).toThrow('no teacher somebody');
  });

  it('adds a projection for each course to the parameters', () => {
    const lessons = [{ kind: 'passages' as const, weight: 1 }];
    const taught = ['words', 'sentences'].map((name) => ({ name, lessons }));
    const both = curriculum(weighedPlan({ teachers: taught }), { layers: 1, width: HIDDEN }, widths);
    const names = distillationParameters({ ...tinyBert, width: HIDDEN }, both).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('projection'))).toEqual([
      'projection.words.last.1.weight',
      'projection.words.last.1.bias',
      'projection.sentences.last.1.weight',
      'projection.sentences.last.1.bias',
    ]);
  });
});

describe('a look into an encoder', () => {
  const deep = readEncoder({ ...tinyBert.config, num_hidden_layers: 3 }, 'config.json');
  const shallow = readEncoder({ ...tinyBert.config, num_hidden_layers: 2 }, 'config.json');
  const weights = new Map(
    deep.parameters('').map(({ name, shape }, at) => [
      name,
      someNumbers(
        shape.reduce((product, size) => product * size, 1),
        0.5,
        at + 1,
      ),
    ]),
  );

  async function statesOf(encoder: typeof deep, layer?: number): Promise<Float32Array> {
    const graph = new Graph();
    const last = encoder.states(graph, trainingInputs(graph), { prefix: '' });
    graph.output('states', layer === undefined ? last : tapped(encoder, '', last, layer, 'states'));
    const compiled = await onnxExecutor().compile(graph, { weights });
    const ids = Int32Array.of(5, 6, 7, 8);
    const zeros = new Int32Array(4);
    const padded = padBatch([{ ids, typeIds: zeros, sequenceIds: zeros, offsets: null, truncated: 0 }], encoder);
    const names = new Set(graph.inputs.map(({ name }) => name));
    const data = new Float32Array(4 * encoder.width);
    await compiled.run(feedsFor(padded, names), {
      states: { type: 'float32', dims: [4, encoder.width], data },
    });
    await compiled.release();
    return data;
  }

  it('finds after the second of three layers what an encoder of two layers ends with', async () => {
    const inner = await statesOf(deep, 2);
    expect(inner).toEqual(await statesOf(shallow));
    expect(inner).not.toEqual(await statesOf(deep));
  });

  it('says that there is no such layer', () => {
    const graph = new Graph();
    const last = deep.states(graph, trainingInputs(graph), { prefix: '' });
    expect(() => tapped(deep, '', last, 4, 'query')).toThrow('no query of layer 4 among its 3 layers');
  });
});
