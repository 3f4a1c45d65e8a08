/** Explanations of models that are trained here: the words that they name are those that move the answers. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type ExplainedAnswer,
} from '../../src/families/index.js';
import { type InferenceService, inferenceService } from '../../src/inference/index.js';
import { Random } from '../../src/random.js';
import { runTraining } from '../../src/training/run-training.js';
import { failureOf, resultOf } from '../support/outcomes.js';

const random = Random.fromSeed(7);
const pick = (words: readonly string[]) => words[random.integer(words.length)] ?? '';
const fillers =
  'on monday we went to the shop near my house and then a friend took it with us from there'.split(' ');
const verdicts = {
  good: ['wonderful', 'lovely', 'delightful', 'superb', 'excellent'],
  bad: ['awful', 'terrible', 'broken', 'dreadful', 'horrible'],
};
type Verdict = keyof typeof verdicts;

/** Twelve words, of which two or three tell the label. */
function review(label: Verdict) {
  const words = Array.from({ length: 12 }, () => pick(fillers));
  for (const at of [2, 6, 9].slice(0, 2 + random.integer(2))) words[at] = pick(verdicts[label]);
  return { text: words.join(' '), label };
}
const reviews = (count: number) =>
  Array.from({ length: count }, (_, at) => review(at % 2 === 0 ? 'good' : 'bad'));

const names = ['Anna', 'Boris', 'Clara', 'David', 'Elena', 'Frank'];
const sentences = names.flatMap((name) =>
  ['likes', 'sees', 'calls', 'hears'].map((verb) => ({
    words: ['today', 'Mr', name, verb, 'the', 'music', 'there'],
    tags: ['O', 'O', 'B-PER', 'O', 'O', 'O', 'O'],
  })),
);
const things = ['lamp', 'river', 'guitar', 'castle', 'garden', 'bridge'];
const questions = things.flatMap((thing) => [
  { question: `Where is the old ${thing} now?`, context: `The ${thing} stands behind the house.` },
  { question: `Who made that ${thing} for us?`, context: `A smith and two boys made the ${thing}.` },
]);

let folder: string;
let service: InferenceService;
const models = { reviews: '', entities: '', passages: '' };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-explain-'));
  service = inferenceService({ isolation: 'inline' });
  const rows = reviews(120);
  const paths = Object.fromEntries(Object.keys(models).map((name) => [name, join(folder, `${name}.zip`)]));
  const type = 'binary-text-classification';
  await resultOf(createClassificationArchive({ type, name: 'reviews', rows }, paths.reviews ?? ''));
  await resultOf(
    createSequenceArchive({ name: 'entities', rows: sentences, devRows: sentences }, paths.entities ?? ''),
  );
  await resultOf(
    createRetrievalArchive({ name: 'passages', rows: questions, devRows: questions }, paths.passages ?? ''),
  );
  models.reviews = await trained('reviews', { type, family: 'Papaya' });
  models.entities = await trained('entities', { type: 'sequence-labeling', family: 'Grapefruit' });
  models.passages = await trained('passages', { type: 'question-answering', family: 'Dragonfruit' });
}, 120_000);
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

async function trained(
  name: string,
  model: Pick<Parameters<typeof runTraining>[0]['model_config'], 'type' | 'family'>,
): Promise<string> {
  const directory = join(folder, name);
  await mkdir(directory);
  await runTraining(
    {
      id: name,
      dataset_url: pathToFileURL(`${directory}.zip`).href,
      model_config: { name, size: 'mini', ...model },
      training_config: { batch_size: 16, num_epochs: 4, learning_rate: 1e-3, use_pretrained: false },
      directory,
      allowFileUrls: true,
      threads: 2,
      seed: 1,
      tuning: {},
    },
    { signal: new AbortController().signal, onEvent: () => undefined },
  );
  return directory;
}

async function explain(model: string, text: string, label?: string): Promise<readonly ExplainedAnswer[]> {
  const { results } = await service.predict(model, [text], { explain: { label } });
  return results[0]?.explained ?? expect.fail('no explanation');
}

async function probability(model: string, text: string, label: string): Promise<number> {
  const { results } = await service.predict(model, [text]);
  const { labels = [], scores = [] } = results[0] ?? {};
  return scores[labels.indexOf(label)] ?? 0;
}

const heaviest = ({ words }: ExplainedAnswer) =>
  [...words]
    .sort((a, b) => b.weight - a.weight)
    .slice(0, 3)
    .map(({ start }) => start);

describe('the words of a classification', () => {
  it('move the answer at least twice as much as random ones, when they are deleted', async () => {
    const fall = { named: 0, random: 0 };
    for (const { text } of reviews(40)) {
      const [explained = expect.fail()] = await explain(models.reviews, text);
      const { answer, score, words } = explained;
      const without = (starts: readonly number[]) =>
        words
          .filter(({ start }) => !starts.includes(start))
          .map(({ word }) => word)
          .join(' ');
      const some = words.map(({ start }) => start);
      const chance = [0, 1, 2].flatMap(() => some.splice(random.integer(some.length), 1));
      fall.named += score - (await probability(models.reviews, without(heaviest(explained)), answer));
      fall.random += score - (await probability(models.reviews, without(chance), answer));
    }
    expect(fall.named).toBeGreaterThan(40 * 0.1);
    expect(fall.named).toBeGreaterThan(2 * fall.random);
  });

  it('come with the answer that predict gives, in their places, for any label', async () => {
    const text = 'We  took a wonderful, lovely İ there!';
    const { results } = await service.predict(models.reviews, [text, text], { explain: { label: 'bad' } });
    const [first, second] = results;
    const [plain] = (await service.predict(models.reviews, [text])).results;
    expect(second).toEqual(first);
    expect(first?.labels).toEqual(plain?.labels);
    for (const [at, score] of (plain?.scores ?? []).entries())
      expect(first?.scores[at]).toBeCloseTo(score, 2);
    const [bad] = first?.explained ?? [];
    const [good] = await explain(models.reviews, text, 'good');
    expect(bad?.words.map(({ word, start }) => text.slice(start, start + word.length))).toEqual(
      bad?.words.map(({ word }) => word),
    );
    expect(bad?.words.map(({ word }) => word).join('')).toBe(text.replaceAll(' ', ''));
    expect(bad?.score).toBe(first?.scores[bad?.position ?? -1]);
    for (const [at, { weight }] of (good?.words ?? []).entries()) {
      expect(weight).toBeCloseTo(-(bad?.words[at]?.weight ?? 0), 2);
    }
  });

  it('are refused for a label that the model does not have, and texts that are too long', async () => {
    const unknown = await failureOf('validation', () => explain(models.reviews, 'fine', 'weather'));
    expect(unknown.message).toBe('label: the model has no label weather; it has bad, good');
    const long = await failureOf('validation', () => explain(models.reviews, 'x '.repeat(6000)));
    expect(long.message).toMatch(/^query: at most 10,000 /);
  });

  it('are there for texts of no word, and for one that is longer than the encoder reads', async () => {
    expect((await explain(models.reviews, '  '))[0]?.words).toEqual([]);
    const long = `${'we went there '.repeat(250)}and it was awful`;
    const [explained] = await explain(models.reviews, long);
    expect(explained?.words).toHaveLength(754);
  });
});

describe('the words of an entity', () => {
  it('are weighed for each, the title before a name and the name itself among the heaviest', async () => {
    const explained = await explain(models.entities, 'today Mr Clara sees the music there');
    expect(explained.map(({ answer, position }) => ({ answer, position }))).toEqual([
      { answer: 'PER', position: 0 },
    ]);
    const [first = expect.fail()] = explained;
    const weights = Object.fromEntries(first.words.map(({ word, weight }) => [word, weight]));
    expect(first.words).toHaveLength(7);
    const told = Math.max(weights.Mr ?? 0, weights.Clara ?? 0, weights.sees ?? 0);
    expect(told).toBeGreaterThan(0.1);
    expect(told).toBeGreaterThan(Math.max(weights.today ?? 0, weights.there ?? 0));
  });

  it('are none where there is no entity', async () => {
    expect(await explain(models.entities, 'the music there')).toEqual([]);
  });
});

describe('the words of a question', () => {
  it('are weighed for each passage, with the words that both share', async () => {
    const [best = expect.fail(), ...others] = await explain(models.passages, 'Who made that guitar?');
    expect(best.answer).toBe('A smith and two boys made the guitar.');
    const byWeight = best.words.toSorted((a, b) => b.weight - a.weight).map(({ word }) => word);
    const scoreWithout = (word = '') =>
      probability(models.passages, 'Who made that guitar?'.replace(word, ''), best.answer);
    expect(await scoreWithout(byWeight[0])).toBeLessThan(await scoreWithout(byWeight.at(-1)));
    expect(best.matches?.map(({ word }) => word)).toEqual(['made', 'guitar']);
    expect(best.matches?.map(({ start }) => best.answer.slice(start, start + 4))).toEqual(['made', 'guit']);
    expect(others).toHaveLength(9);
  });
});
