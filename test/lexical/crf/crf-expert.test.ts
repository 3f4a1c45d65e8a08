import { describe, expect, it } from 'vitest';
import { CharacterClass, characterClass, patterns } from '../../../src/lexical/crf/word-features.js';
import {
  CrfExpert,
  type CrfTrainingOptions,
  encodeCrfExpert,
  type TaggedWords,
  trainCrfExpert,
  viterbi,
} from '../../../src/lexical/index.js';
import { Random } from '../../../src/system/numbers.js';
import { failureOf } from '../../support/outcomes.js';

const signal = new AbortController().signal;

function train(sentences: readonly TaggedWords[], options: Partial<CrfTrainingOptions> = {}): Promise<CrfExpert> {
  return trainCrfExpert(sentences, { tags: 3, seed: 1, signal, passes: 10, ...options });
}

const tagsOf = (expert: CrfExpert, words: readonly string[]) => [
  ...viterbi(expert.emissions(words), expert.transitions),
];

const [O, B, I] = [0, 1, 2];

/** "word" never changes and only the tags around it tell: every first, third, … is B, every other one I. */
function alternating(count: number): TaggedWords[] {
  return Array.from({ length: count }, (_, index) => {
    const length = 12 + (index % 9);
    return {
      words: Array<string>(length).fill('word'),
      tags: Array.from({ length }, (_, at) => (at % 2 === 0 ? B : I)),
    };
  });
}

/** "… lives in <name> now", names being capitalised and of one or two words that no two sentences share. */
function places(count: number, seed = 1): TaggedWords[] {
  const random = Random.fromSeed(seed);
  const letters = [...'abdegiklmnoprstu'];
  const name = () => {
    const [first = '', ...rest] = Array.from({ length: 6 }, () => letters[random.integer(16)] ?? '');
    return first.toUpperCase() + rest.join('');
  };
  return Array.from({ length: count }, () => {
    const two = random.uniform() < 0.5;
    return {
      words: ['she', 'lives', 'in', name(), ...(two ? [name()] : []), 'now'],
      tags: [O, O, O, B, ...(two ? [I] : []), O],
    };
  });
}

describe('the CRF expert', () => {
  it('learns a pattern that only transitions can tell', async () => {
    const expert = await train(alternating(60));
    const [sentence] = alternating(1).map(({ words }) => [...words, ...words, ...words]);
    const tags = tagsOf(expert, sentence ?? []);
    expect(tags).toEqual(tags.map((_, at) => (at % 2 === 0 ? B : I)));
  });

  it('finds names that it has never seen', async () => {
    const expert = await train(places(150));
    for (const { words, tags } of places(30, 2)) expect(tagsOf(expert, words)).toEqual(tags);
  });

  it('gives the same bytes for the same sentences and seed, others for another seed', async () => {
    const sentences = places(40);
    const [once, again, other] = [await train(sentences), await train(sentences), await train(sentences, { seed: 2 })];
    expect(Buffer.compare(encodeCrfExpert(once), encodeCrfExpert(again))).toBe(0);
    expect(Buffer.compare(encodeCrfExpert(once), encodeCrfExpert(other))).not.toBe(0);
  });

  it('has smaller weights if they are regularised more', async () => {
    const size = async (regularization: number) => {
      const expert = await train(places(60), { regularization });
      return expert.emissions(['she', 'lives', 'in', 'Rome']).reduce((sum, score) => sum + score ** 2, 0);
    };
    expect(await size(20)).toBeLessThan((await size(0.1)) / 2);
  });

  it('keeps the features that matter most if the file must be small', async () => {
    const sentences = places(150);
    const small = await train(sentences, { maxBytes: 4000 });
    expect(encodeCrfExpert(small).length).toBeLessThan(5000);
    const held = places(30, 2);
    const right = held.filter(({ words, tags }) => tagsOf(small, words).join() === tags.join());
    expect(right.length).toBeGreaterThan(25);
  });

  it('scores every word of any script, and what is not a word', async () => {
    const words = ['東京', 'タワー', 'İstanbul', 'ﬁn', '👩‍👩‍👧', '\ud83d', 'नमस्ते', '', ' ', '𝒜𝒷', 'x'.repeat(5000)];
    const expert = await train([{ words, tags: words.map((_, at) => at % 3) }]);
    const emissions = expert.emissions(words);
    expect(emissions).toHaveLength(words.length * 3);
    expect(emissions.every(Number.isFinite)).toBe(true);
    const japanese = [
      { words: ['私', 'は', '東京', 'へ', '行く'], tags: [O, O, B, O, O] },
      { words: ['彼', 'は', '大阪', 'へ', '行く'], tags: [O, O, B, O, O] },
    ];
    expect(tagsOf(await train(japanese, { passes: 40 }), ['母', 'は', '京都', 'へ', '行く'])).toEqual([O, O, B, O, O]);
  });

  it('gives every tag 0 if there was nothing to learn from', async () => {
    const expert = await train([{ words: [], tags: [] }]);
    expect([...expert.emissions(['a'])]).toEqual([0, 0, 0]);
    expect(expert.emissions([])).toHaveLength(0);
    expect(expert.tags).toBe(3);
  });

  it('stops soon after the signal, before it starts and in the middle', async () => {
    await failureOf('aborted', () => train(places(5), { signal: AbortSignal.abort() }));
    const controller = new AbortController();
    const running = train(places(5), { signal: controller.signal, passes: 1e6 });
    setImmediate(() => controller.abort());
    await failureOf('aborted', () => running);
  });
});

describe('the classes of ASCII characters', () => {
  it('are those of the patterns of Unicode', () => {
    for (let code = 0; code < 128; code += 1) {
      const character = String.fromCharCode(code);
      const expected = patterns.find(([pattern]) => pattern.test(character))?.[1] ?? CharacterClass.other;
      expect(characterClass(code), character).toBe(expected);
    }
  });
});

describe('the file of a CRF expert', () => {
  it('scores as before it was stored, to the bit', async () => {
    const trained = await train(places(60));
    const read = CrfExpert.decode(encodeCrfExpert(trained), 'crf.safetensors');
    expect(read.transitions).toEqual(trained.transitions);
    for (const { words } of places(20, 3)) expect(read.emissions(words)).toEqual(trained.emissions(words));
  });

  it('is refused with its name if it is not what it should be', async () => {
    const bytes = encodeCrfExpert(await train(places(20)));
    const wrong = { nothing: new Uint8Array(0), 'cut off': bytes.subarray(0, bytes.length - 5) };
    for (const [name, content] of Object.entries(wrong)) {
      const error = await failureOf('model_folder', () => CrfExpert.decode(content, 'folder/crf.safetensors'));
      expect(error.message, name).toContain('folder/crf.safetensors');
    }
  });
});
