import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  computeTargets,
  shardsOf,
  type TargetsOptions,
} from '../../models/recipes/backbones/distillation/compute-targets.js';
import { curriculum } from '../../models/recipes/backbones/distillation/courses.js';
import { distillation } from '../../models/recipes/backbones/distillation/distillation.js';
import { Teacher } from '../../models/recipes/backbones/distillation/load-teacher.js';
import { weighedPlan } from '../../models/recipes/backbones/distillation/plan.js';
import { TargetFolder } from '../../models/recipes/backbones/distillation/target-folder.js';
import { Targets } from '../../models/recipes/backbones/distillation/targets.js';
import { readText } from '../../models/recipes/backbones/distillation/text-targets.js';
import { Student } from '../../models/recipes/backbones/student/student.js';
import { readStudent } from '../../models/recipes/backbones/student/student-checkpoint.js';
import { readEncoder } from '../../src/encoder/index.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { loadTokenizer } from '../../src/text/index.js';
import { fine, passages, writeTeacher } from '../support/tiny-teacher.js';

vi.mock('../../models/recipes/backbones/settings.js', async (importOriginal) => {
  const settings = await importOriginal<typeof import('../../models/recipes/backbones/settings.js')>();
  return { ...settings, targetSettings: { shardTexts: 4, meanTexts: 6, batchTokens: 24 } };
});

const folder = mkdtempSync(join(tmpdir(), 'orchard-targets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const student = loadTokenizer(fine);

const TRACKS = ['last', 'layer-1', 'queries-2', 'words'];
const record = {
  name: 'teacher',
  prefix: 'query: ',
  pooling: 'mean',
  licence: 'MIT',
  arithmetic: 'float32',
  width: 16,
  corpus: 'c',
  tokenizer: 't',
} as const;

let teacher: Teacher;
let options: TargetsOptions;
const whole = new TargetFolder(join(folder, 'whole'));
beforeAll(async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  writeTeacher(join(folder, 'teacher'));
  teacher = await Teacher.load(join(folder, 'teacher'), onnxExecutor(), TRACKS);
  const rules = {
    teacher: teacher.tokenizer,
    student,
    prefix: 'query: ',
    pooling: 'mean',
    maxTokens: 64,
  } as const;
  options = { teacher, rules, tracks: TRACKS, count: 14, shards: { part: 1, of: 1 } };
  await computeTargets(whole, record, passages, options);
});
afterAll(() => teacher.release());

const filesOf = (target: TargetFolder) =>
  new Map(readdirSync(target.path).map((file) => [file, readFileSync(join(target.path, file))]));

describe('a text that a teacher reads after a prefix', () => {
  it('has targets for its own words alone, at the places that they have without it', () => {
    const [passage = ''] = passages;
    const text = readText(passage, options.rules);
    const covered = text.ranges.slice(1).map(({ start, end }) => {
      const { offsets } = text.taught;
      return `query: ${passage}`.slice(offsets?.[2 * start], offsets?.[2 * end - 1]);
    });
    const learned = text.spans.map(({ start, end }) => {
      const { offsets } = text.learned;
      return passage.slice(offsets?.[2 * start], offsets?.[2 * end - 1]);
    });
    expect(covered).toEqual(learned);
    expect(covered.join('')).toBe(passage.replaceAll(' ', ''));
    expect(text.ranges[0]).toEqual({ start: 0, end: text.taught.ids.length });
  });

  it('has the first token for its passage where the teacher pools so', () => {
    expect(readText('the rain', { ...options.rules, pooling: 'first' }).ranges[0]).toEqual({
      start: 0,
      end: 1,
    });
  });
});

describe('targets', () => {
  const read = (track: string, target = whole) => {
    const targets = Targets.open([{ folder: target.path, tracks: [track] }]);
    const rows = targets.places.map(({ shard, text }, place) => {
      const own = targets.of('teacher');
      const spans = own.spans(shard, text);
      const found = own.rows(shard, text, track, spans.length);
      const vectors = [0, ...spans].map((_, row) => [...found.codes(row)].map((code) => code * found.scale(row)));
      return { place, spans, ids: [...targets.ids({ shard, text })], vectors };
    });
    targets.close();
    return rows;
  };

  /** The vectors of a passage, from one run of the teacher over it alone. */
  async function direct(track: string, place: number): Promise<number[][]> {
    const text = readText(passages[place] ?? '', options.rules);
    const { tracks } = await teacher.states([text.taught]);
    const values = tracks.get(track) ?? new Float32Array();
    return text.ranges.map(({ start, end }) =>
      Array.from({ length: 16 }, (_, i) => {
        let sum = 0;
        for (let token = start; token < end; token += 1) sum += values[token * 16 + i] ?? 0;
        return sum / (end - start);
      }),
    );
  }

  it('are the queries of spans as the teacher has them', async () => {
    for (const { place, vectors, ids, spans } of read('queries-2')) {
      expect(ids).toEqual([...student.encode(passages[place] ?? '').ids]);
      const right = await direct('queries-2', place);
      expect(vectors).toHaveLength(1 + spans.length);
      for (const [row, vector] of vectors.entries()) {
        const most = Math.max(...(right[row] ?? []).map(Math.abs));
        for (const [i, value] of vector.entries()) {
          expect(Math.abs(value - (right[row]?.[i] ?? 0))).toBeLessThan(most / 250);
        }
      }
    }
  });

  it.each(['last', 'layer-1', 'words'])('are centred by the first passages: %s', async (track) => {
    const all = read(track);
    expect(all).toHaveLength(14);
    const first = all.slice(0, 6);
    const passageMeans = Array.from({ length: 16 }, (_, i) =>
      first.reduce((sum, { vectors }) => sum + (vectors[0]?.[i] ?? 0), 0),
    );
    for (const sum of passageMeans) expect(Math.abs(sum)).toBeLessThan(0.2);
    const spans = first.flatMap(({ vectors }) => vectors.slice(1));
    for (let i = 0; i < 16; i += 1) {
      expect(Math.abs(spans.reduce((sum, vector) => sum + (vector[i] ?? 0), 0) / spans.length)).toBeLessThan(0.02);
    }
    // Two passages differ by as much as they do in the teacher, whatever was taken out of both.
    const [a, b] = [await direct(track, 8), await direct(track, 11)];
    const difference = (x: number[][], y: number[][]) => (x[0] ?? []).map((value, i) => value - (y[0]?.[i] ?? 0));
    const stored = difference(all[8]?.vectors ?? [], all[11]?.vectors ?? []);
    for (const [i, value] of difference(a, b).entries()) expect(stored[i]).toBeCloseTo(value, 1);
  });

  it('are the same whether two processes share the shards or one computes all', async () => {
    const shared = new TargetFolder(join(folder, 'shared'));
    const parts = ['2/2', '1/2'].map((written) => ({ ...options, shards: shardsOf(written) }));
    for (const part of parts) await computeTargets(shared, record, passages, part);
    expect(filesOf(shared)).toEqual(filesOf(whole));
    expect(whole.shards(TRACKS)).toEqual([0, 1, 2, 3]);
  });

  it('gain tracks and shards later, and keep those that are there', async () => {
    const grown = new TargetFolder(join(folder, 'grown'));
    await computeTargets(grown, record, passages, { ...options, tracks: ['last'], count: 4 });
    const before = statSync(grown.rowsFile(0, 'last')).mtimeMs;
    await computeTargets(grown, record, passages, options);
    expect(filesOf(grown)).toEqual(filesOf(whole));
    expect(statSync(grown.rowsFile(0, 'last')).mtimeMs).toBe(before);
  });

  it('are nearly the same in 8-bit arithmetic', async () => {
    const calibration = passages.map((text) => `query: ${text}`);
    const integer = await Teacher.load(join(folder, 'teacher'), onnxExecutor(), ['last'], calibration);
    const texts = passages.map((text) => readText(text, options.rules).taught);
    const [exact, rounded] = [await teacher.states(texts), await integer.states(texts)];
    await integer.release();
    const [a, b] = [exact, rounded].map(({ tracks }) => tracks.get('last') ?? new Float32Array());
    const dot = (x: Float32Array = new Float32Array(), y: Float32Array = x) =>
      x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
    const cosine = dot(a, b) / Math.sqrt(dot(a) * dot(b));
    expect(cosine).toBeGreaterThan(0.99);
    expect(cosine).toBeLessThan(0.999_999);
  });

  it('of another corpus are refused', async () => {
    await expect(computeTargets(whole, { ...record, corpus: 'd' }, passages, options)).rejects.toThrow(
      'of another corpus (c, not d); delete the folder',
    );
  });

  it('say what is missing', () => {
    const empty = new TargetFolder(join(folder, 'empty'));
    expect(() => Targets.open([{ folder: empty.path, tracks: ['last'] }])).toThrow('no shard has all targets');
    expect(() => shardsOf('3/2')).toThrow('"3/2" is no part of the shards');
  });
});

describe('a student', () => {
  const encoder = readEncoder(
    {
      model_type: 'bert',
      vocab_size: student.vocabularySize,
      hidden_size: 16,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      intermediate_size: 32,
      max_position_embeddings: 64,
      initializer_range: 0.2,
    },
    'config.json',
  );
  const plan = weighedPlan({
    teachers: [
      {
        name: 'teacher',
        lessons: [
          { kind: 'passages', weight: 0.4 },
          { kind: 'spans', weight: 0.4 },
          { kind: 'spans', track: 'layer-1', studentLayer: 1, weight: 0.2 },
        ],
      },
    ],
  });
  const newStudent = () => {
    const targets = Targets.open([{ folder: whole.path, tracks: ['last', 'layer-1'] }]);
    return Student.create({
      executor: onnxExecutor(),
      encoder,
      objective: distillation({
        encoder,
        specialTokens: student.specialTokens,
        targets,
        curriculum: curriculum(plan, encoder, new Map([['teacher', 16]])),
        maskedShare: 0.15,
        validationTexts: 2,
        batchSize: 4,
        seed: 7,
      }),
      batchSize: 4,
      seed: 7,
    });
  };

  it('sees the capitals of the passages that its plan shows, each in its own place of the corpus', () => {
    const targets = Targets.open([{ folder: whole.path, tracks: ['last', 'layer-1'] }]);
    const shown = 9;
    const cased = passages.map((passage, at) => (at === shown ? passage.toUpperCase() : passage));
    const objective = distillation({
      encoder,
      specialTokens: student.specialTokens,
      targets,
      curriculum: curriculum(plan, encoder, new Map([['teacher', 16]])),
      maskedShare: 0,
      capitals: { share: 1, passages: cased, tokenizer: student },
      validationTexts: 2,
      batchSize: 4,
      seed: 7,
    });
    const { encodings } = objective.batch([...objective.lengths.keys()], 1);
    const marked = encodings.map(({ typeIds }) => typeIds.reduce((sum, type) => sum + type, 0));
    const tokens = student.encode(passages[shown] ?? '').ids.length;
    expect(marked).toEqual(passages.slice(2).map((_, at) => (at + 2 === shown ? tokens - 2 : 0)));
    targets.close();
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
    const found = await newStudent();
    await expect(found.restore(other)).rejects.toThrow('other.safetensors holds no checkpoint');
    await found.release();
  });

  it('comes nearer to its teacher, and measures every lesson by itself', async () => {
    const found = await newStudent();
    const first = await found.step(0);
    let last = first;
    for (let step = 0; step < 100; step += 1) last = await found.step(0.01);
    const measured = await found.validate();
    await found.release();
    expect(last).toBeLessThan(first - 0.3);
    expect(Object.keys(measured)).toEqual([
      'teacher.last.2 passages',
      'teacher.last.2 spans',
      'teacher.layer-1.1 spans',
    ]);
    for (const value of Object.values(measured)) expect(value).toBeGreaterThan(0);
  });
});
