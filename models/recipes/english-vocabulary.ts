import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { trainWordPiece } from '../../src/text/index.js';

/**
 * Makes the bundled English vocabulary, src/text/english-vocabulary.json: `npx tsx
 * models/recipes/english-vocabulary.ts <folder of text files>`, with en_*.txt or en_*.txt.br in the folder
 * (public-domain novels and speeches, Wikipedia, Wikinews, OpenStax, MASC, SGD dialogues; the first 6 million
 * characters of each, so that no source outweighs the others). Takes seconds on one core; the same texts give
 * the same file.
 */

const CHARACTERS_A_FILE = 6_000_000;
const VOCABULARY_SIZE = 16_000;

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('give the folder of the text files');

function* lines(directory: string): Generator<string> {
  for (const name of readdirSync(directory).sort()) {
    if (!/^en_.*\.txt(\.br)?$/.test(name) || name.includes('wikitext2')) continue;
    const bytes = readFileSync(join(directory, name));
    const text = (name.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8');
    console.log(`${name}: ${text.length} characters`);
    yield* text.slice(0, CHARACTERS_A_FILE).split('\n');
  }
}

const { model } = trainWordPiece(lines(folder), { vocabularySize: VOCABULARY_SIZE, lowercase: true });
const pieces = Object.entries(model.vocab).sort(([, a], [, b]) => a - b);
const target = new URL('../../src/text/english-vocabulary.json', import.meta.url);
writeFileSync(
  target,
  `${JSON.stringify(
    pieces.map(([piece]) => piece),
    undefined,
    2,
  )}\n`,
);
