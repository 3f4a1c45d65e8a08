import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { Tokenizer as RustTokenizer } from 'tokenizers';
import { Random } from '../src/system/index.js';
import { loadTokenizer, trainWordPiece } from '../src/text/index.js';

/**
 * Texts per second of our WordPiece tokenizer, @huggingface/tokenizers and the Rust `tokenizers` package.
 *
 *   npx tsx bench/tokenizer.ts [file]     one text per line; without a file, made-up short English texts
 *
 * The three take turns in every round, and the figures are medians over the rounds, so that the ratios hold
 * on a machine whose speed drifts. The heap is collected before each turn, so that none pays for another's
 * garbage. Rust gets whole batches, its best case.
 */

const ROUNDS = 9;
const TEXTS = 5000;

const subjects = ['the customer', 'my sister', 'a tired driver', 'our new manager', 'everyone', 'the old phone'];
const verbs = ['returned', "didn't like", 'was waiting for', 'ordered', 'complained about', 'recommended'];
const objects = ['the blue jacket', 'an unexpected invoice', 'two concert tickets', 'that restaurant', 'this app'];
const endings = ['yesterday.', 'for $24.99!', 'again, sadly...', 'because it was broken', '(in January)', 'twice?'];

function madeUpTexts(): string[] {
  const random = Random.fromSeed(42);
  const pick = (list: readonly string[]) => list[random.integer(list.length)] ?? '';
  const clause = () => [subjects, verbs, objects, endings].map(pick).join(' ');
  return Array.from({ length: TEXTS }, (_, i) => (i % 2 === 0 ? clause() : `${clause()} ${clause()}`));
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

async function main(): Promise<void> {
  const file = process.argv[2];
  const lines = file === undefined ? madeUpTexts() : readFileSync(file, 'utf8').split('\n').slice(0, TEXTS);
  const json = trainWordPiece(lines, { vocabularySize: 8000, lowercase: true });
  const ours = loadTokenizer(json);
  const theirs = new HuggingFaceTokenizer(json, {});
  const rust = RustTokenizer.fromString(JSON.stringify(json));
  const contestants: Record<string, () => unknown> = {
    'orchard-nlp (with offsets)': () => {
      for (const line of lines) ours.encode(line);
    },
    '@huggingface/tokenizers': () => {
      for (const line of lines) theirs.encode(line);
    },
    'tokenizers (Rust, one batch)': () => rust.encodeBatch(lines),
  };

  const seconds = new Map(Object.keys(contestants).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      collectGarbage();
      const start = performance.now();
      await run();
      seconds.get(name)?.push((performance.now() - start) / 1000);
    }
  }
  const baseline = median(seconds.get('@huggingface/tokenizers') ?? []);
  for (const [name, times] of seconds) {
    const rate = Math.round(lines.length / median(times)).toLocaleString('en-US');
    console.log(`${name.padEnd(30)} ${rate.padStart(9)} texts/s   ${(baseline / median(times)).toFixed(2)}x`);
  }
}

await main();
