import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Baseline, loadModel, type TrainedModel, type TrainOptions, train } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeVectors } from '../../src/drift/baseline.js';
import { Random } from '../../src/system/index.js';
import { run } from '../cli/run-command.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';

/** The baseline that `train` keeps, and what `model.drift` and `orchard drift` say of texts. */

const MARKER = 'zanzibar';
const subjects = ['the lamp', 'the room', 'a chair', 'my order', 'the phone', 'this desk', 'the bed', 'our table'];
const verdicts = {
  good: ['works', 'is great', 'is fine', 'looks new'],
  bad: ['broke', 'is awful', 'is dirty', 'fell apart'],
};
const places = ['in the hall', 'at home', 'in the shop', 'over there', 'by the door', 'in may'];

/** Different sentences in random order. */
const sentences = Random.fromSeed(1).shuffle(
  subjects.flatMap((subject) =>
    Object.entries(verdicts).flatMap(([label, all]) =>
      all.flatMap((verdict) => places.map((place) => ({ text: `${subject} ${verdict} ${place}`, label }))),
    ),
  ),
);
const [rows, dev, usual] = [sentences.slice(0, 200), sentences.slice(200, 280), sentences.slice(280)];
const texts = usual.map(({ text }) => text);
const flights = Random.fromSeed(2).shuffle(
  Array.from({ length: 120 }, (_, at) => `please send flight ${at % 23} to gate ${at % 7} before ${at % 12} o'clock`),
);

const [foreign, alike] = [flights.slice(0, 60), flights.slice(60)];

let folder: string;
let base: string;
let model: TrainedModel;

async function trained(options: TrainOptions): Promise<TrainedModel> {
  const made = await train({ base, threads: 1, tuning: { quantize: false }, ...options });
  if (made.isErr()) throw made.error;
  return made.value;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-drift-'));
  base = writeCheckpoint(join(folder, 'base'));
  const marked = rows.map((row, at) => (at % 10 === 0 ? { ...row, text: `${row.text} ${MARKER}` } : row));
  model = await trained({ rows: marked, dev, epochs: 1, output: join(folder, 'model') });
}, 120_000);
afterAll(async () => {
  await model?.close();
  await rm(folder, { recursive: true });
});

const baselineOf = async (of: TrainedModel = model): Promise<Baseline> => (await of.baseline())._unsafeUnwrap();

describe('the baseline that train keeps', () => {
  it('is of the dev rows, and without any of their texts or those of the training rows', async () => {
    const baseline = await baselineOf();
    expect(baseline).toMatchObject({ format: 1, origin: 'training', texts: 80, labels: { good: expect.any(Number) } });
    const answers = (await model.predict(dev.map(({ text }) => text)))._unsafeUnwrap();
    const good = answers.filter((each) => each.kind === 'labels' && each.label === 'good').length;
    expect(baseline.labels).toEqual({ good, bad: 80 - good });
    const bytes = await readFile(join(folder, 'model', 'baseline.json'));
    expect(JSON.parse(bytes.toString('utf8'))).toEqual(baseline);
    const { bits } = baseline.known;
    for (const content of [bytes, Buffer.from(bits, 'base64'), Buffer.from(baseline.vectors?.codes ?? '', 'base64')]) {
      expect(content.toString('latin1')).not.toMatch(new RegExp(`${MARKER}|lamp`, 'i'));
    }
  });

  it('has the vectors that the model folder gives for the same texts', async () => {
    const { vectors: kept } = await baselineOf();
    const { vectors: now } = (await model.baseline({ texts: dev.map(({ text }) => text) }))._unsafeUnwrap();
    if (kept === undefined || now === undefined) throw new Error('no vectors');
    const [first, second] = [decodeVectors(kept), decodeVectors(now)];
    expect(first.values).toHaveLength(80 * first.width);
    expect(second.values).toHaveLength(first.values.length);
    const largest = first.values.reduce(
      (most, each, at) => Math.max(most, Math.abs(each - (second.values[at] ?? 0))),
      0,
    );
    expect(largest).toBeLessThan(0.02); // 8 bits
  });

  it('has no vectors if the encoder learned from all rows', async () => {
    await using tuned = await trained({ rows: sentences.slice(0, 60) });
    const isTuned = tuned.training.method === 'fine-tuning';
    const { vectors, texts: count } = await baselineOf(tuned);
    expect({ count, hasVectors: vectors !== undefined }).toEqual({ count: 60, hasVectors: !isTuned });
    await using frozen = await trained({ rows: sentences.slice(0, 60), effort: 'quick' });
    expect(frozen.training.method).toBe('frozen-encoder');
    expect((await baselineOf(frozen)).vectors).toBeDefined();
  }, 120_000);

  it('is of entity types for models that find entities', async () => {
    const entities = sentences.slice(0, 60).map(({ text }) => ({
      ...{ tokens: text.split(' ') },
      tags: text.split(' ').map((_, at) => (at === 1 ? 'B-THING' : 'O')),
    }));
    await using tagger = await trained({ rows: entities, effort: 'quick' });
    const { labels } = await baselineOf(tagger);
    expect(Object.keys(labels ?? {})).toEqual(['THING']);
    expect((await tagger.drift(texts))._unsafeUnwrap().labels?.every(({ label }) => label === 'THING')).toBe(true);
  }, 120_000);

  it('has no labels for models that rank passages', async () => {
    const questions = sentences
      .slice(0, 60)
      .map(({ text, label }) => ({ question: `why ${text}`, passage: `${label} ${text}` }));
    await using retriever = await trained({ rows: questions });
    expect(await baselineOf(retriever)).not.toHaveProperty('labels');
    const drift = (await retriever.drift(texts.map((text) => `why ${text}`)))._unsafeUnwrap();
    expect(drift).not.toHaveProperty('labels');
    expect(drift.tests.map(({ name }) => name)).toContain('knownShare');
  }, 120_000);
});

describe('model.drift', () => {
  it('finds that other texts drifted, and texts of the same kind not', async () => {
    expect((await model.drift(texts))._unsafeUnwrap()).toMatchObject({
      texts: texts.length,
      baselineTexts: 80,
      alarm: false,
    });
    const drift = (await model.drift(foreign))._unsafeUnwrap();
    expect(drift.alarm).toBe(true);
    expect(drift.tests.map(({ name }) => name)).toEqual(['knownShare', 'length', 'labels', 'vectors']);
    expect(drift.knownShare.value).toBeLessThan(drift.knownShare.baseline);
  });

  it('names the odd texts by their places', async () => {
    const mixed = [...texts.slice(0, 30), foreign[0] ?? '', ...texts.slice(30)];
    expect((await model.drift(mixed))._unsafeUnwrap().oddest[0]).toMatchObject({ index: 30, knownShare: 0 });
  });

  it('compares with texts of your own, after a way through JSON', async () => {
    const baseline = (await model.baseline({ texts: alike }))._unsafeUnwrap();
    const read: Baseline = JSON.parse(JSON.stringify(baseline));
    expect((await model.drift(foreign, { baseline: read }))._unsafeUnwrap().alarm).toBe(false);
    expect((await model.drift(texts, { baseline: read }))._unsafeUnwrap().alarm).toBe(true);
  });

  it('refuses the baseline of another model, and what is no baseline', async () => {
    const relabelled = sentences.slice(0, 60).map(({ text, label }) => ({ text, label: label.toUpperCase() }));
    await using other = await trained({ rows: relabelled, effort: 'quick' });
    const baseline = await baselineOf(other);
    const refused = (await model.drift(texts, { baseline }))._unsafeUnwrapErr();
    expect(refused.code).toBe('validation');
    expect(refused.message).toMatch(/another model/);
    const wrong: object = { baseline: { format: 1 } };
    expect((await model.drift(texts, wrong))._unsafeUnwrapErr().code).toBe('validation');
  }, 60_000);

  it.each([
    ['a blank text', ['fine', ' '], { seed: 0 }],
    ['a seed that is no whole number', ['fine'], { seed: 0.5 }],
  ])('refuses %s', async (_, given, options) => {
    expect((await model.drift(given, options))._unsafeUnwrapErr().code).toBe('validation');
  });

  it('refuses a seed for the recorded baseline, which would be ignored', async () => {
    expect((await model.baseline({ seed: 1 }))._unsafeUnwrapErr().message).toMatch(/^seed: .*give `texts`/);
    expect((await model.baseline({ texts: [] }))._unsafeUnwrapErr().code).toBe('validation');
  });

  it('says what to do if the folder has no baseline or a damaged one', async () => {
    const older = join(folder, 'older');
    await cp(join(folder, 'model'), older, { recursive: true });
    await rm(join(older, 'baseline.json'));
    await using loaded = (await loadModel(older))._unsafeUnwrap();
    for (const asked of [loaded.baseline(), loaded.drift(texts)]) {
      const failure = (await asked)._unsafeUnwrapErr();
      expect(failure.code).toBe('model_folder');
      expect(failure.message).toContain('model.baseline({ texts })');
    }
    const baseline = (await loaded.baseline({ texts }))._unsafeUnwrap();
    expect((await loaded.drift(foreign, { baseline }))._unsafeUnwrap().alarm).toBe(true);
    const damaged = join(folder, 'damaged');
    await cp(older, damaged, { recursive: true });
    await writeFile(join(damaged, 'baseline.json'), '{"format":1}');
    await using broken = (await loadModel(damaged))._unsafeUnwrap();
    expect((await broken.baseline())._unsafeUnwrapErr()).toMatchObject({ code: 'model_folder' });
  }, 60_000);

  it('stops at the signal', async () => {
    const signal = AbortSignal.abort();
    expect((await model.drift(texts, { signal }))._unsafeUnwrapErr().code).toBe('aborted');
    expect((await model.baseline({ texts, signal }))._unsafeUnwrapErr().code).toBe('aborted');
  });
});

describe('orchard drift', () => {
  const file = async (name: string, lines: readonly string[]) => {
    const path = join(folder, name);
    await writeFile(path, `${lines.join('\n')}\n`);
    return path;
  };

  it('prints a verdict and a table, and ends with 1 only if asked for it', async () => {
    const [same, other] = [await file('same.txt', texts), await file('other.txt', foreign)];
    const fine = await run(['drift', join(folder, 'model'), same, '--fail-on-drift']);
    expect(fine).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^no drift found: 104 texts/) });
    const drifted = await run(['drift', join(folder, 'model'), other, '--fail-on-drift']);
    expect(drifted).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^the texts drifted: 60 texts/) });
    expect(drifted.stdout).toMatch(/^known n-grams +\d/m);
    expect((await run(['drift', join(folder, 'model'), other])).exitCode).toBe(0);
    const usualOnes = await run([
      'drift',
      join(folder, 'model'),
      other,
      '--usual',
      await file('alike.txt', alike),
      '--fail-on-drift',
      '--json',
    ]);
    expect(usualOnes.exitCode).toBe(0);
    expect(JSON.parse(usualOnes.stdout)).toMatchObject({ alarm: false, oddest: { length: 20 } });
  }, 120_000);

  it('reads --text-column of the file that has columns, if the other one has none', async () => {
    const table = await file('table.tsv', ['body', ...alike]);
    for (const [path, usual] of [
      [table, await file('alike.txt', alike)],
      [await file('alike.txt', alike), table],
    ] as const) {
      const args = ['drift', join(folder, 'model'), path, '--usual', usual, '--text-column', 'body'];
      expect(await run(args)).toMatchObject({ exitCode: 0, stderr: '' });
    }
  }, 120_000);
});
