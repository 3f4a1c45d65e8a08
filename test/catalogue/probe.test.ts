import { describe, expect, it } from 'vitest';
import { FrozenEncoder } from '../../models/recipes/backbones/check/frozen-states.js';
import { classifyLinearly } from '../../models/recipes/backbones/check/logistic-regression.js';
import { probeTexts, probeWords } from '../../models/recipes/backbones/check/probe-tasks.js';
import { completeWeights, startingWeights } from '../../models/recipes/backbones/check/starts.js';
import { WorkFolder } from '../../models/recipes/backbones/work-folder.js';
import { newBert } from '../../src/encoder/index.js';
import { minimize } from '../../src/engine/index.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

describe('the search for a minimum', () => {
  it('finds that of a quadratic function whose axes differ a thousandfold', async () => {
    const scales = [1, 30, 1000];
    const at = new Float64Array(3);
    const slope = async (point: Float64Array) => ({
      value: point.reduce((sum, x, i) => sum + ((scales[i] ?? 0) * (x - i - 1) ** 2) / 2, 0),
      gradient: point.map((x, i) => (scales[i] ?? 0) * (x - i - 1)),
    });
    await minimize(slope, at, { steps: 100, tolerance: 0 });
    for (const [i, x] of at.entries()) expect(x).toBeCloseTo(i + 1, 6);
  });
});

describe('the linear classifier', () => {
  it('tells classes apart by the one feature that does, whatever its scale', async () => {
    const random = Random.fromSeed(3);
    const made = (count: number) => {
      const classes = Array.from({ length: count }, (_, at) => at % 3);
      const vectors = classes.flatMap((each) => [random.normal(), 500 + 0.01 * (each + 0.2 * random.normal()), 1]);
      return { width: 3, vectors: Float32Array.from(vectors), classes };
    };
    const asked = made(60);
    const guesses = await classifyLinearly(onnxExecutor(), made(300), 3, asked.vectors);
    const right = guesses.filter((guess, at) => guess === asked.classes[at]).length;
    expect(right).toBeGreaterThan(54);
  });
});

describe('a start', () => {
  const work = new WorkFolder('no-folder');

  it('may be the folder of a finished backbone, with all of its weights', async () => {
    const weights = await startingWeights(work, 'models/backbones/english-mini', 256);
    const { vocabularySize } = loadTokenizer(englishTokenizer());
    const bert = newBert({ layers: 4, width: 256, heads: 4 }, vocabularySize);
    expect([...weights.keys()].sort()).toEqual(
      bert
        .parameters('')
        .map(({ name }) => name)
        .sort(),
    );
    expect(Math.hypot(...(weights.get('encoder.layer.3.output.LayerNorm.weight') ?? []))).toBeGreaterThan(1);
  });

  it('of another name is refused with those that there are', async () => {
    await expect(startingWeights(work, 'nothing', 256)).rejects.toThrow(
      'no start nothing: there are random, embeddings, checkpoint, annealed, and folders of backbones',
    );
  });
});

describe('a probe', () => {
  const executor = onnxExecutor({ threads: 1 });
  const tokenizer = loadTokenizer(englishTokenizer());
  const bert = newBert({ layers: 1, width: 64, heads: 1 }, tokenizer.vocabularySize);
  const random = Random.fromSeed(5);
  const fillers = ['a', 'book', 'of', 'songs', 'with', 'its', 'cast'];
  const filler = () => fillers[random.integer(fillers.length)] ?? 'a';

  it('of texts sees the word that decides, even in random states, and one of words sees the name', async () => {
    const encoder = await FrozenEncoder.create(executor, bert, completeWeights(bert, new Map()));
    const rows = Array.from({ length: 120 }, (_, at) => ({
      text: [filler(), filler(), at % 2 === 0 ? 'lovely' : 'dull'].join(' '),
      labels: [at % 2 === 0 ? 'good' : 'bad'],
    }));
    const texts = {
      type: 'binary-text-classification',
      labels: ['bad', 'good'],
      train: rows.slice(0, 80),
      dev: rows.slice(80),
      test: [],
    } as const;
    const probed = { executor, encoder, tokenizer, lowercase: true };
    expect(await probeTexts(probed, texts)).toBeGreaterThan(0.9);
    const sentences = Array.from({ length: 90 }, (_, at) => {
      const name = at % 3 === 0 ? ['london'] : at % 3 === 1 ? ['new', 'york'] : [];
      const tags = name.map((_, place) => (place === 0 ? 'B-LOC' : 'I-LOC'));
      return { words: [filler(), ...name, filler()], tags: ['O', ...tags, 'O'] };
    });
    const tagged = { train: sentences.slice(0, 60), dev: sentences.slice(60), test: [] };
    expect(await probeWords(probed, tagged)).toBeGreaterThan(0.9);
    await encoder.release();
  });

  it('of words sees which have capitals, as a fine-tuned tagger does', async () => {
    const encoder = await FrozenEncoder.create(executor, bert, completeWeights(bert, new Map()));
    const sentences = Array.from({ length: 90 }, (_, at) => {
      const name = filler();
      const named = at % 2 === 0;
      const words = ['a', named ? `${name.slice(0, 1).toUpperCase()}${name.slice(1)}` : name, 'book'];
      return { words, tags: ['O', named ? 'B-TITLE' : 'O', 'O'] };
    });
    const tagged = { train: sentences.slice(0, 60), dev: sentences.slice(60), test: [] };
    const found = (lowercase: boolean) => probeWords({ executor, encoder, tokenizer, lowercase }, tagged);
    expect(await found(true)).toBeGreaterThan(0.9);
    expect(await found(false)).toBeLessThan(0.7);
    await encoder.release();
  });
});
