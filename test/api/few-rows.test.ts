import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LabelAnswer, type TrainedModel, type TrainingEvent, type TrainOptions, train } from 'orchard-nlp';
import { afterEach, describe, expect, it } from 'vitest';

/** Classifiers from a handful of rows, from the backbone of the package. */

const praise = [
  'a lovely film',
  'great fun',
  'I enjoyed it',
  'what a treat',
  'wonderful acting',
  'superb',
  'so good',
  'I loved it',
];
const blame = [
  'a dull film',
  'no fun',
  'I was bored',
  'what a mess',
  'terrible acting',
  'awful',
  'so bad',
  'I hated it',
];
const rows = [
  ...praise.map((text) => ({ text, label: 'positive' })),
  ...blame.map((text) => ({ text, label: 'negative' })),
];

let model: TrainedModel<LabelAnswer> | undefined;
afterEach(async () => model?.close());

async function trained(options: Partial<TrainOptions<(typeof rows)[number]>> = {}): Promise<TrainedModel<LabelAnswer>> {
  const result = await train({ rows, threads: 1, ...options });
  if (result.isErr()) throw result.error;
  model = result.value;
  return result.value;
}

describe('train on sixteen rows', () => {
  it('learns from all of them and judges each by models that had not seen it', async () => {
    const events: TrainingEvent[] = [];
    const { training } = await trained({ onProgress: (event) => events.push(event) });
    expect(training).toMatchObject({ method: 'frozen-encoder', train: 16, dev: 0, folds: 8, judgedRows: 16 });
    const { accuracy = 0, interval = { low: 1, high: 0 } } = training;
    expect(accuracy).toBeGreaterThan(0.6);
    expect(interval.low).toBeLessThan(accuracy);
    expect(interval.high).toBeGreaterThanOrEqual(accuracy);
    expect(training.warnings).toEqual([]);
    const answer = await model?.predict('an enjoyable evening');
    expect(answer?.isOk() && answer.value.label).toBe('positive');
    const answers = (await model?.predict(['lovely '.repeat(2000), 'lovely']))?._unsafeUnwrap();
    expect(answers?.map(({ truncated }) => truncated)).toEqual([true, undefined]);
    expect((await model?.predict('lovely '.repeat(2000)))?._unsafeUnwrap().truncated).toBe(true);
    const shares = events.flatMap((event) => (event.type === 'progress' ? [event.fraction] : []));
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
  });

  it('gives the same model for the same seed', async () => {
    const weightsOf = async () => readFile(join((await trained()).directory, 'model.safetensors'));
    const first = await weightsOf();
    await model?.close();
    expect(Buffer.compare(first, await weightsOf())).toBe(0);
  });

  it('says in card and report how the figures were measured', async () => {
    await trained();
    const texts = [await model?.card(), await model?.report()].map((result) => (result?.isOk() ? result.value : ''));
    for (const text of texts) expect(text).toContain('in 8 folds');
  });

  it('judges on dev rows that are given, or asked for', async () => {
    const given = await trained({
      rows: rows.filter((_, row) => row % 4 > 0),
      dev: rows.filter((_, row) => row % 4 === 0),
    });
    expect(given.training).toMatchObject({ method: 'frozen-encoder', train: 12, dev: 4, judgedRows: 4 });
    expect(given.training.folds).toBeUndefined();
    await model?.close();
    const asked = await trained({ devFraction: 0.25 });
    expect(asked.training).toMatchObject({ train: 12, dev: 4, judgedRows: 4 });
  });

  it('trains the encoder if epochs are asked for', async () => {
    const { training } = await trained({ epochs: 1 });
    expect(training).toMatchObject({ method: 'fine-tuning', train: 14, dev: 2, judgedRows: 2 });
  });

  it('tries a trained encoder with more effort, and refuses an effort that there is none of', async () => {
    const { training } = await trained({ effort: 'thorough' });
    expect(training).toMatchObject({ train: 16, dev: 0, judgedRows: 16 });
    // The folds are those of the encoder that was kept.
    expect(training.folds).toBe(training.method === 'fine-tuning' ? 3 : 8);
    const wrong = await train({ rows, effort: JSON.parse('"much"') });
    expect(wrong.isErr() && wrong.error.message).toContain('effort');
  });
});

describe('labels', () => {
  const labels = { positive: 'good, great, I love it', negative: 'bad, awful, I hate it' };

  it('make a first classifier without rows, of which nothing is claimed', async () => {
    const result = await train({ labels, threads: 1 });
    if (result.isErr()) throw result.error;
    const { training } = result.value;
    try {
      expect(training).toMatchObject({ method: 'label-names', train: 0, dev: 0, judgedRows: 0 });
      expect(training.accuracy).toBeUndefined();
      expect(result.value.labels).toEqual(['positive', 'negative']);
      const answer = await result.value.predict('this is awful');
      expect(answer.isOk() && answer.value).toMatchObject({ label: 'negative' });
      const text = await result.value.card();
      expect(text.isOk() && text.value).toContain('nothing was measured');
    } finally {
      await result.value.close();
    }
  });

  it('have descriptions that few rows learn from; a warning says if training in epochs does not', async () => {
    const few = await trained({ labels });
    expect(few.training.warnings).toEqual([]);
    await model?.close();
    const { training } = await trained({ labels, epochs: 1 });
    expect(training.warnings).toContainEqual({
      ...{ kind: 'unused_description', count: 2, examples: [] },
      message: expect.stringMatching(/^the model did not learn from the 2 descriptions in `labels`: /),
    });
    await model?.close();
    const named = await trained({ labels: Object.keys(labels), epochs: 1 });
    expect(named.training.warnings.map(({ kind }) => kind)).not.toContain('unused_description');
  });

  it('are those of the model, in their order, even if no row has one of them', async () => {
    const { labels: known } = await trained({ labels: ['positive', 'neutral', 'negative'] });
    expect(known).toEqual(['positive', 'neutral', 'negative']);
  });

  it.each([
    [{ labels: ['positive'], rows }, /label "negative"; expected one of "positive"/],
    [{ labels: ['a', 'b'] }, /label "a", a name without meaning/],
    [{ labels: ['good one', 'good one'] }, /"good one" occurs twice/],
    [{ labels, epochs: 2 }, /without rows, a classifier/],
    [{ labels, dev: rows }, /there are no rows; leave `dev` out/],
    [{ labels: [] }, /found 0 labels/],
  ])('are refused with what is wrong: %j', async (options, message) => {
    const result = await train(options);
    expect(result.isErr() && result.error.message).toMatch(message);
  });
});

describe('learn', () => {
  it('makes the model that train makes of all rows', async () => {
    const [first, more] = [rows.filter((_, row) => row % 2 === 0), rows.filter((_, row) => row % 2 === 1)];
    const all = await trained({ rows: [...first, ...more], seed: 4 });
    const part = await train({ rows: first, seed: 4, threads: 1 });
    if (part.isErr()) throw part.error;
    const learned = await part.value.learn(more);
    if (learned.isErr()) throw learned.error;
    const weightsOf = ({ directory }: { directory: string }) => readFile(join(directory, 'model.safetensors'));
    expect(learned.value.training.train).toBe(16);
    expect(Buffer.compare(await weightsOf(all), await weightsOf(learned.value))).toBe(0);
    await Promise.all([part.value.close(), learned.value.close()]);
  });

  it('takes rows with a label that is new to a model of two', async () => {
    const two = (await train({ rows, seed: 4, threads: 1 }))._unsafeUnwrap();
    const three = (await two.learn(['a', 'b', 'c', 'd'].map((text) => ({ text, label: 'unknown' }))))._unsafeUnwrap();
    expect(three.training.type).toBe('multiclass-text-classification');
    expect(three.labels).toHaveLength(3);
    await Promise.all([two.close(), three.close()]);
  });
});

describe('retrieval from few questions', () => {
  const questions = [
    ['Where does the parcel go if nobody is at home?', 'The driver leaves it with a neighbour or at the nearest shop.'],
    ['How long may I return shoes?', 'Footwear can be sent back within thirty days of delivery.'],
    ['Which cards do you take?', 'We accept Visa, Mastercard and bank transfers.'],
    ['Can I change my address later?', 'Until the order is packed, the address can be edited in your account.'],
    ['Do you repair lamps?', 'Lighting under two years old is mended free of charge.'],
    ['What does shipping abroad cost?', 'Orders to other countries are sent for twelve euros.'],
  ].map(([question = '', passage = '']) => ({ question, passage }));

  it('keeps the vectors of the backbone where training spoils them', async () => {
    const weightsFor = async (seed: number, learningRate: number) => {
      const spoilt = await train({
        rows: questions,
        seed,
        learningRate,
        epochs: 1,
        threads: 1,
        tuning: { quantize: false },
      });
      if (spoilt.isErr()) throw spoilt.error;
      await using ranker = spoilt.value;
      return await readFile(join(ranker.directory, 'model.safetensors'));
    };
    // Whatever the seed, they are those of the backbone.
    const [one, other] = [await weightsFor(1, 1), await weightsFor(2, 1)];
    expect(Buffer.compare(one, other)).toBe(0);
  });
});

describe('train on few sentences', () => {
  const people = ['Ada Noor', 'Otto Bele', 'Ines Corr', 'Kai Brandt'];
  const sentences = people.flatMap((name) =>
    ['Oslo', 'Ghent', 'Prague'].map((town) => {
      const text = `${name} went to ${town} yesterday .`;
      const place = (word: string, type: string) => {
        const start = text.indexOf(word);
        return { start, end: start + word.length, type };
      };
      return { text, entities: [place(name, 'PER'), place(town, 'LOC')] };
    }),
  );

  it('learns from all of them and judges each by models that had not seen it', async () => {
    const result = await train({ rows: sentences, threads: 1 });
    await using finder = result._unsafeUnwrap();
    expect(finder.training).toMatchObject({ method: 'frozen-encoder', train: 12, dev: 0, folds: 8, judgedRows: 12 });
    expect(finder.training.f1).toBeGreaterThan(0.5);
    const answer = (await finder.predict('Otto Bele went to Ghent yesterday .'))._unsafeUnwrap();
    expect(answer.entities.map(({ text }) => text)).toEqual(['Otto Bele', 'Ghent']);
  });
});

describe('train on few questions', () => {
  const questions = ['lamps', 'chairs', 'clocks', 'kettles', 'mirrors'].flatMap((thing) => [
    { question: `Where do I find ${thing}?`, passage: `All ${thing} are in aisle ${thing.length}.` },
    { question: `What do ${thing} cost?`, passage: `The price of ${thing} is on the shelf.` },
  ]);

  it('keeps the vectors of the backbone, and all questions decide their weight beside BM25', async () => {
    const result = await train({ rows: questions, threads: 1 });
    await using ranker = result._unsafeUnwrap();
    expect(ranker.training).toMatchObject({ method: 'frozen-encoder', train: 10, dev: 0, judgedRows: 10 });
    expect(ranker.training.topk?.[1]).toBeGreaterThan(0.5);
    const answer = (await ranker.predict('Where are the kettles?'))._unsafeUnwrap();
    expect(answer.passages[0]?.text).toContain('kettles');
  });
});

describe('train', () => {
  it('refuses a language that is not known, with the nearest', async () => {
    const error = (await train({ rows, language: 'klingon' }))._unsafeUnwrapErr();
    expect(error.message).toMatch(/"klingon" is not a known language.*such as/);
    expect((await train({ rows, language: 'germn' }))._unsafeUnwrapErr().message).toMatch(/such as german/);
  });

  it('refuses a folder that a file is in the way of, before it trains', async () => {
    const output = join(import.meta.filename, 'model');
    const events: TrainingEvent[] = [];
    const error = (await train({ rows, output, onProgress: (event) => events.push(event) }))._unsafeUnwrapErr();
    expect(error.code).toBe('validation');
    expect(events).toEqual([]);
  });
});
