import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { WORD_EMBEDDINGS } from '../../models/recipes/backbones/embeddings/make-embeddings.js';
import { hideTokens } from '../../models/recipes/backbones/masked-language/hidden-tokens.js';
import {
  maskedLanguage,
  type Neighbours,
} from '../../models/recipes/backbones/masked-language/masked-language.js';
import { Student } from '../../models/recipes/backbones/student/student.js';
import { readStudent } from '../../models/recipes/backbones/student/student-checkpoint.js';
import { initialize, readEncoder } from '../../src/encoder/index.js';
import { GradientEngine, padBatch } from '../../src/engine/index.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/random.js';
import { tinyBert as encoder } from '../support/tiny-bert.js';

const MASK = 4;

describe('hidden tokens', () => {
  const text = fc
    .array(fc.integer({ min: 5, max: encoder.vocabularySize - 1 }), { minLength: 1, maxLength: 60 })
    .map((ids) => Int32Array.of(2, ...ids, 3));
  const options = (seed: number) => ({
    hiddenShare: 0.2,
    maskedShare: 0.85,
    maskId: MASK,
    random: Random.fromSeed(seed),
  });

  it('are a fifth of each text, at least one, and never [CLS] or [SEP]', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), fc.nat(), (texts, seed) => {
        const { hidden } = hideTokens(texts, options(seed));
        for (const [at, ids] of texts.entries()) {
          const own = hidden.filter((each) => each.text === at);
          expect(own).toHaveLength(Math.max(1, Math.round((ids.length - 2) / 5)));
          expect(new Set(own.map(({ token }) => token)).size).toBe(own.length);
          for (const { token } of own) expect(token > 0 && token < ids.length - 1).toBe(true);
        }
      }),
    );
  });

  it('remember their ids, and no others are shown as [MASK]', () => {
    fc.assert(
      fc.property(text, fc.nat(), (ids, seed) => {
        const { seen, hidden } = hideTokens([ids], options(seed));
        const restored = seen[0]?.slice() ?? new Int32Array();
        for (const { token, id } of hidden) restored[token] = id;
        expect(restored).toEqual(ids);
      }),
    );
  });

  it('are replaced by [MASK] in 85 of 100 cases', () => {
    const long = Int32Array.from({ length: 5002 }, () => 7);
    const { seen, hidden } = hideTokens([long], options(1));
    const masked = seen[0]?.filter((id) => id === MASK).length ?? 0;
    expect(hidden).toHaveLength(1000);
    expect(Math.abs(masked / 1000 - 0.85)).toBeLessThan(0.04); // three and a half standard errors
  });
});

const random = Random.fromSeed(5);
const someIds = (length: number) =>
  Int32Array.from({ length }, (_, at) => (at === 0 ? 2 : at === length - 1 ? 3 : 5 + random.integer(20)));
const examples: Neighbours[] = Array.from({ length: 14 }, (_, at) => [
  someIds(4 + (at % 7)),
  someIds(5 + (at % 5)),
]);
const objectiveOf = (train = examples.slice(2)) =>
  maskedLanguage({
    encoder,
    specialTokens: { mask: MASK },
    train,
    validation: examples.slice(0, 2),
    batchSize: 8,
    seed: 7,
  });

describe('the engine over masked-language modelling', () => {
  const fields = { ...encoder.config, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0 };
  const still = readEncoder(fields, 'config.json');

  it('sums both gradients of the word embeddings, batch after batch, as finite differences have them', async () => {
    const objective = objectiveOf();
    const engine = await GradientEngine.create({
      executor: onnxExecutor(),
      head: objective.head,
      encoder: still,
      trainable: objective.parameters,
      batchSize: 8,
      longest: objective.longest,
      seed: 1,
    });
    const normal = Random.fromSeed(3);
    for (const spec of objective.parameters) {
      initialize(spec, engine.store.get(spec.name).weights, () => normal.normal());
    }
    const run = async (batch: readonly number[]) => {
      const { encodings, feeds } = objective.batch(batch, 0);
      return engine.run(padBatch(encodings, encoder), { feeds, weight: encodings.length });
    };
    const { weights, gradients } = engine.store.get(WORD_EMBEDDINGS);
    await run([8, 9, 10]); // what it leaves behind must not show
    await run([0, 1]);
    const analytic = gradients.slice();
    let difference = 0;
    let size = 0;
    for (let at = 0; at < weights.length; at += 3) {
      const centre = weights[at] ?? 0;
      const moved = async (by: number) => {
        weights[at] = centre + by;
        return run([0, 1]);
      };
      const near = (await moved(0.01)) - (await moved(-0.01));
      const far = (await moved(0.02)) - (await moved(-0.02));
      weights[at] = centre;
      const numeric = (8 * near - far) / 0.12;
      difference += (numeric - (analytic[at] ?? 0)) ** 2;
      size += numeric ** 2;
    }
    await engine.release();
    expect(Math.sqrt(difference / size)).toBeLessThan(5e-3);
  });
});

describe('a student without a teacher', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orchard-masked-language-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const newStudent = (objective = objectiveOf()) =>
    Student.create({ executor: onnxExecutor(), encoder, objective, batchSize: 8, seed: 7 });

  it('ends with the same weights whether or not it was stopped on the way', async () => {
    const uninterrupted = await newStudent();
    for (let step = 0; step < 9; step += 1) {
      if (step === 4) await uninterrupted.save(join(folder, 'checkpoint'));
      await uninterrupted.step(0.01);
    }
    await uninterrupted.save(join(folder, 'uninterrupted'));
    const resumed = await newStudent();
    await resumed.restore(join(folder, 'checkpoint'));
    for (let step = 4; step < 9; step += 1) await resumed.step(0.01);
    await resumed.save(join(folder, 'resumed'));
    expect(await resumed.validate()).toEqual(await uninterrupted.validate());
    await Promise.all([uninterrupted.release(), resumed.release()]);
    const read = (name: string) => readStudent(join(folder, name));
    expect(await read('resumed')).toEqual(await read('uninterrupted'));
  });

  it('learns to predict tokens, and which passages are neighbours', async () => {
    const student = await newStudent(objectiveOf(examples.slice(0, 4)));
    const before = await student.validate();
    for (let step = 0; step < 150; step += 1) await student.step(0.005);
    const after = await student.validate();
    await student.release();
    expect(after.words).toBeLessThan((before.words ?? 0) - 0.5);
    expect(after.neighbours).toBeLessThan((before.neighbours ?? 0) - 0.5);
  });

  it('refuses batches that do not fit into one run, whose texts could not be compared', async () => {
    const objective = objectiveOf();
    const tooMany = { executor: onnxExecutor(), encoder, objective, batchSize: 1_000_000, seed: 7 };
    await expect(Student.create(tooMany)).rejects.toThrow(
      '1000000 texts of 10 tokens are too many for one run',
    );
  });
});
