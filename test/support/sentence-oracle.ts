import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Runtime } from '../../src/contract/index.js';
import { embed, type Prompt, SentenceEncoder, scorePairs } from '../../src/search/index.js';
import { similarityOf } from '../../src/search/search-index.js';
import { resultOf } from './outcomes.js';

/** Folders that Python's sentence-transformers wrote beside what it computed with them (bench/interop/sentences.py). */

const numbers = z.array(z.number());
const sentenceSchema = z.object({
  writtenBy: z.string(),
  texts: z.array(z.string()),
  answers: z.array(
    z.object({ prompt: z.string().optional(), prompt_name: z.string().optional(), vectors: z.array(numbers) }),
  ),
  /** Of the first text's vector and all. */
  similarities: numbers,
});
const pairSchema = z.object({
  writtenBy: z.string(),
  pairs: z.array(z.tuple([z.string(), z.string()])),
  scores: numbers,
});

/** The largest difference, and how many numbers were compared. */
export interface Difference {
  readonly numbers: number;
  readonly largest: number;
}

/** Of all numbers that Python has written beside a folder. */
export async function compareFolder(folder: string, runtime?: Runtime): Promise<Difference> {
  const expected = expectedIn(folder);
  const { success } = pairSchema.safeParse(expected);
  return success ? comparePairs(folder, runtime) : compareSentences(folder, runtime);
}

/** Of our vectors, for every prompt, and of their similarities, relative to those above 1. */
async function compareSentences(folder: string, runtime: Runtime | undefined): Promise<Difference> {
  const expected = sentenceSchema.parse(expectedIn(folder));
  const pairs: (readonly [number, number])[] = [];
  for (const { prompt, prompt_name, vectors } of expected.answers) {
    const asked: Prompt | undefined = prompt === undefined ? prompt_name : { text: prompt };
    const ours = await resultOf(embed(expected.texts, { model: folder, prompt: asked, runtime }));
    for (const [row, theirs] of vectors.entries()) pairs.push(...paired(ours[row], theirs));
  }
  const compared = await similarities(folder, expected.texts, runtime);
  return differenceOf([...pairs, ...paired(compared, compared.length === 0 ? [] : expected.similarities.slice(1))]);
}

async function comparePairs(folder: string, runtime: Runtime | undefined): Promise<Difference> {
  const { pairs, scores } = pairSchema.parse(expectedIn(folder));
  return differenceOf(paired(await resultOf(scorePairs(pairs, { model: folder, runtime })), scores));
}

async function similarities(folder: string, texts: readonly string[], runtime: Runtime = 'auto'): Promise<number[]> {
  const service = { threads: 1, runtime };
  const encoder = await SentenceEncoder.ofModel({ name: 'oracle', directory: folder }, { service });
  try {
    // Search compares by all of sentence-transformers' similarities but one.
    if (encoder.settings.similarity === 'manhattan') return [];
    const vectors = await encoder.vectors(texts);
    const { stored, asked, score } = similarityOf(encoder);
    const [first = new Float32Array()] = vectors;
    const query = asked(first);
    // A distance of 0 is the difference of two squares, which isn't exact.
    return vectors.slice(1).map((vector) => {
      const product = stored(vector).reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0);
      return score(product, first);
    });
  } finally {
    await encoder.close();
  }
}

function expectedIn(folder: string): unknown {
  return JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
}

function paired(ours: ArrayLike<number> | undefined, theirs: readonly number[]): (readonly [number, number])[] {
  return theirs.map((value, at) => [ours?.[at] ?? Number.NaN, value] as const);
}

function differenceOf(pairs: readonly (readonly [number, number])[]): Difference {
  const differences = pairs.map(([ours, theirs]) => Math.abs(ours - theirs) / Math.max(1, Math.abs(theirs)));
  return { numbers: pairs.length, largest: Math.max(...differences) };
}
