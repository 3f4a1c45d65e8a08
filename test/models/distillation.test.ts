import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { distillation } from '../../models/recipes/backbones/distillation/distillation.js';
import {
  distillationFeeds,
  distillationLoss,
} from '../../models/recipes/backbones/distillation/distillation-head.js';
import {
  readTargetShard,
  type TextTargets,
  writeTargetShard,
} from '../../models/recipes/backbones/distillation/target-shard.js';
import { Student } from '../../models/recipes/backbones/student/student.js';
import { readStudent } from '../../models/recipes/backbones/student/student-checkpoint.js';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/random.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { tinyBert as encoder } from '../support/tiny-bert.js';

const WIDTH = 6;
const random = Random.fromSeed(5);

/** Passages of 4 to 9 tokens with a span for each but the first and last token, the second span of two tokens. */
const texts: TextTargets[] = Array.from({ length: 12 }, (_, at) => {
  const length = 4 + (at % 6);
  const spans = [
    { start: 1, end: 3 },
    ...Array.from({ length: length - 4 }, (_, i) => ({ start: i + 3, end: i + 4 })),
  ];
  return {
    ids: Int32Array.from({ length }, () => 5 + random.integer(20)),
    spans,
    vectors: Int8Array.from({ length: (1 + spans.length) * WIDTH }, () => random.integer(255) - 127),
  };
});
const folder = mkdtempSync(join(tmpdir(), 'orchard-distillation-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the distillation loss', () => {
  const HIDDEN = 4;
  const batch = texts.slice(0, 3);
  const columns = 3 * Math.max(...batch.map(({ ids }) => ids.length));

  /** The loss of these projected states, worked out vector by vector. */
  function plainLoss(
    states: Float32Array,
    weight: Float32Array,
    bias: Float32Array,
    sentence: number,
  ): number {
    const cosine = (place: number, range: { start: number; end: number }, target: Int8Array) => {
      const mean = Array.from({ length: HIDDEN }, (_, i) => {
        let sum = 0;
        for (let token = range.start; token < range.end; token += 1) {
          sum += states[(token * batch.length + place) * HIDDEN + i] ?? 0;
        }
        return sum / (range.end - range.start);
      });
      const projected = Array.from({ length: WIDTH }, (_, o) =>
        mean.reduce((sum, x, i) => sum + x * (weight[o * HIDDEN + i] ?? 0), bias[o] ?? 0),
      );
      const dot = projected.reduce((sum, x, i) => sum + x * (target[i] ?? 0), 0);
      return dot / (Math.hypot(...projected) * Math.hypot(...target));
    };
    const sentences: number[] = [];
    const spans: number[] = [];
    for (const [place, text] of batch.entries()) {
      const vector = (at: number) => text.vectors.subarray(at * WIDTH, (at + 1) * WIDTH);
      sentences.push(cosine(place, { start: 0, end: text.ids.length }, vector(0)));
      for (const [at, span] of text.spans.entries()) spans.push(cosine(place, span, vector(at + 1)));
    }
    const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;
    return 1 - sentence * mean(sentences) - (1 - sentence) * mean(spans);
  }

  const states = someNumbers(columns * HIDDEN, 1, 2);
  const weight = someNumbers(WIDTH * HIDDEN, 1, 3);
  const bias = someNumbers(WIDTH, 0.5, 4);
  const feeds = distillationFeeds(batch, WIDTH, { sentence: 0.3 });

  it('is the weighted mean of 1 − cosine over passages and spans', async () => {
    const graph = new Graph();
    graph.output('loss', distillationLoss(graph, graph.parameter('states', [columns, HIDDEN]), WIDTH));
    const compiled = await onnxExecutor().compile(graph);
    const loss = new Float32Array(1);
    await compiled.run(
      {
        ...feeds,
        states: { type: 'float32', dims: [columns, HIDDEN], data: states },
        'projection.weight': { type: 'float32', dims: [WIDTH, HIDDEN], data: weight },
        'projection.bias': { type: 'float32', dims: [WIDTH], data: bias },
      },
      { loss: { type: 'float32', dims: [], data: loss } },
    );
    await compiled.release();
    expect(loss[0]).toBeCloseTo(plainLoss(states, weight, bias, 0.3), 5);
  });

  it('has the gradients that finite differences have', async () => {
    const error = await gradientError({
      parameters: new Map([
        ['states', { dims: [columns, HIDDEN], values: states }],
        ['projection.weight', { dims: [WIDTH, HIDDEN], values: weight }],
        ['projection.bias', { dims: [WIDTH], values: bias }],
      ]),
      feeds,
      loss: (graph) => distillationLoss(graph, graph.parameter('states', [columns, HIDDEN]), WIDTH),
    });
    expect(error).toBeLessThan(1e-3);
  });
});

describe('a file of targets', () => {
  it('gives back what was written', async () => {
    const file = join(folder, 'targets.safetensors');
    await writeTargetShard(file, texts, WIDTH);
    expect(readTargetShard(file)).toEqual(texts);
  });
});

describe('a student', () => {
  const newStudent = (train = texts.slice(2)) =>
    Student.create({
      executor: onnxExecutor(),
      encoder,
      objective: distillation({
        encoder,
        specialTokens: { mask: 4 },
        train,
        validation: texts.slice(0, 2),
        teacherWidth: WIDTH,
        batchSize: 4,
        seed: 7,
      }),
      batchSize: 4,
      seed: 7,
    });
  const checkpoint = join(folder, 'checkpoint.safetensors');
  const after = join(folder, 'after.safetensors');

  let uninterrupted: Student;
  beforeAll(async () => {
    uninterrupted = await newStudent();
    for (let step = 0; step < 4; step += 1) await uninterrupted.step(0.01);
    await uninterrupted.save(checkpoint);
    for (let step = 0; step < 5; step += 1) await uninterrupted.step(0.01);
    await uninterrupted.save(after);
  });
  afterAll(() => uninterrupted.release());

  it('ends with the same weights whether or not it was stopped on the way', async () => {
    const resumed = await newStudent();
    await resumed.restore(checkpoint);
    for (let step = 0; step < 5; step += 1) await resumed.step(0.01);
    expect(resumed.state).toEqual(uninterrupted.state);
    const resumedFile = join(folder, 'resumed.safetensors');
    await resumed.save(resumedFile);
    await resumed.release();
    expect((await readStudent(resumedFile)).weights).toEqual((await readStudent(after)).weights);
  });

  it('does not start anew over a file that is not a checkpoint', async () => {
    const other = join(folder, 'other.safetensors');
    writeFileSync(other, 'not a checkpoint');
    const student = await newStudent();
    await expect(student.restore(other)).rejects.toThrow('other.safetensors holds no checkpoint');
    await student.release();
  });

  it('begins a new epoch if there are more texts than before', async () => {
    const resumed = await newStudent([...texts.slice(2), ...texts.slice(0, 2)]);
    await resumed.restore(checkpoint);
    expect(resumed.state).toMatchObject({ steps: 4, epoch: 2, batch: 0, texts: 12 });
    await resumed.release();
  });

  it('comes nearer to its teacher', async () => {
    const student = await newStudent();
    const first = await student.step(0);
    let last = first;
    for (let step = 0; step < 150; step += 1) last = await student.step(0.01);
    await student.release();
    expect(last).toBeLessThan(first - 0.3);
  });
});
