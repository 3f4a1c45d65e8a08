import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExplainedAnswer } from '../../src/families/index.js';
import { type InferenceService, inferenceService } from '../../src/inference/index.js';
import { Random } from '../../src/system/numbers.js';
import { failureOf } from '../support/outcomes.js';

/** Explanations of models of the catalogue: the words that they name are those that move the answers. */

const random = Random.fromSeed(7);
const pick = (words: readonly string[]) => words[random.integer(words.length)] ?? '';
const fillers = 'on monday we went to the shop near my house and then a friend took it with us from there'.split(' ');
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
const reviews = (count: number) => Array.from({ length: count }, (_, at) => review(at % 2 === 0 ? 'good' : 'bad'));

const catalogue = join(import.meta.dirname, '../../models/catalogue');
const models = {
  reviews: '',
  entities: join(catalogue, 'named-entity-recognition'),
  passages: join(catalogue, 'research-papers-search'),
};
let folder: string;
let service: InferenceService;

/** A classifier of the catalogue, as if it had been measured on dev rows, of which there were few. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-explain-'));
  service = inferenceService({ isolation: 'inline' });
  models.reviews = join(folder, 'reviews');
  await cp(join(catalogue, 'sentiment-classification'), models.reviews, { recursive: true });
  const path = join(models.reviews, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8'));
  const evidence = { rows: 30, coverage: 0.6, none_below: 0.6 };
  await writeFile(path, JSON.stringify({ ...config, orchard: { ...config.orchard, evidence } }));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

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
    const { results } = await service.predict(models.reviews, [text, text], {
      explain: { label: 'negative' },
    });
    const [first, second] = results;
    const [plain] = (await service.predict(models.reviews, [text])).results;
    expect(second).toEqual(first);
    expect(first?.labels).toEqual(plain?.labels);
    for (const [at, score] of (plain?.scores ?? []).entries()) expect(first?.scores[at]).toBeCloseTo(score, 2);
    const [bad] = first?.explained ?? [];
    const [good] = await explain(models.reviews, text, 'positive');
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
    expect(unknown.message).toBe('label: the model has no label weather; it has negative, positive');
    for (const other of [models.entities, models.passages]) {
      const refused = await failureOf('validation', () => explain(other, 'fine', 'weather'));
      expect(refused.message).toBe('label: only a classifier can explain the label of your choice; leave it out');
    }
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

describe('none of these', () => {
  it('is told where it is asked for: of what the model does not know, not of what it does', async () => {
    const known = 'on monday a wonderful lovely delightful friend took it';
    const texts = [known, 'qxq vzv 漢字 ,,', ''];
    const { results } = await service.predict(models.reviews, texts, { noneOfThese: true });
    expect(results.map(({ none_of_these }) => none_of_these)).toEqual([false, true, true]);
    const [scores, unknown] = results.map((result) => result.scores);
    expect(Math.max(...(scores ?? []))).toBeLessThan(0.99);
    expect(Math.max(...(unknown ?? []))).toBeLessThan(0.8);
    const plain = (await service.predict(models.reviews, texts)).results;
    expect(plain.map((result) => Object.keys(result))).toEqual(texts.map(() => ['labels', 'scores']));
  });

  it('is refused of a model that has no threshold for it', async () => {
    const asked = () => service.predict(models.entities, ['Paris'], { noneOfThese: true });
    expect((await failureOf('validation', asked)).message).toMatch(/^noneOfThese: the model has no threshold/);
  });
});

describe('the words of an entity', () => {
  const text = 'Yesterday Angela Merkel met the head of Siemens in Berlin.';

  it('are weighed for each entity, its own the heaviest', async () => {
    const explained = await explain(models.entities, text);
    const { results } = await service.predict(models.entities, [text]);
    expect(explained.map(({ answer }) => answer)).toEqual(results[0]?.labels);
    for (const { words, position } of explained) {
      expect(words.map(({ word }) => word).join(' ')).toBe(text.replace('.', ' .'));
      const [heaviestWord] = words.toSorted((a, b) => b.weight - a.weight);
      expect(heaviestWord?.weight).toBeGreaterThan(1);
      expect(results[0]?.tokens?.[position]).toContain(heaviestWord?.word);
    }
  });

  it('are none where there is no entity', async () => {
    expect(await explain(models.entities, 'it rains')).toEqual([]);
  });
});

describe('the words of a question', () => {
  it('are weighed for each passage, with the words that both share', async () => {
    const question = 'How can machine translation handle rare words?';
    const [best = expect.fail(), ...others] = await explain(models.passages, question);
    const weights = Object.fromEntries(best.words.map(({ word, weight }) => [word, weight]));
    const { translation = 0, How = 0, can = 0 } = weights;
    expect(translation).toBeGreaterThan(0.5);
    expect(translation).toBeGreaterThan(Math.max(How, can));
    expect(others).toHaveLength(9);
    for (const { word, start } of best.matches ?? []) expect(best.answer.slice(start)).toMatch(word);
    const shared = new Set(best.matches?.map(({ word }) => word.toLowerCase()));
    expect(shared).toContain('translation');
    expect(shared).not.toContain('the');
  });
});
