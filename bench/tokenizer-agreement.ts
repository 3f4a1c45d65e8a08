import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { loadTokenizer } from '../src/text/index.js';
import { hardTexts } from '../test/text/generated-texts.js';
import { differences, encodeByRust, rustTokenizer } from '../test/text/rust-tokenizers.js';
import { machine } from './report.js';

/**
 * Compares a tokenizer.json as it is read here with the Rust `tokenizers` package: ids and places of every piece of
 * every line of some files, and of made-up lines of characters that tokenizers stumble over.
 * Usage: `npm run bench -- tokenizer-agreement <tokenizer.json> [file of texts …] [--lines 20000]`.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { lines: { type: 'string', default: '20000' } },
});
const [file, ...textFiles] = positionals;
if (file === undefined) {
  console.error('give a tokenizer.json: npm run bench -- tokenizer-agreement <tokenizer.json> [file of texts …]');
  process.exit(2);
}

/** So many differing texts are printed. */
const SHOWN = 5;
const MADE_UP = 5000;

// The file's own lengths are ignored here: callers say what they need.
const stored = z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8')));
const json = { ...stored, truncation: null, padding: null };
const ours = loadTokenizer(json);
const theirs = rustTokenizer(json);
if (ours.withoutOffsets !== undefined) console.log(`without places: ${ours.withoutOffsets}`);

const most = Number(options.lines);
const sources: Record<string, readonly string[]> = { 'made-up lines': hardTexts(MADE_UP, 11) };
for (const texts of textFiles) sources[texts] = readFileSync(texts, 'utf8').split('\n').slice(0, most);

const table: Record<string, object> = {};
for (const [name, texts] of Object.entries(sources)) {
  const different = { ids: 0, offsets: 0 };
  let shown = 0;
  for (const text of texts) {
    const { ids, offsets } = ours.encode(text);
    const expected = await encodeByRust(theirs, text);
    const fields = differences(
      { ids, offsets: offsets ?? expected.offsets },
      { ids: expected.ids, offsets: expected.offsets },
    );
    if (fields.length === 0) continue;
    if (fields.includes('ids')) different.ids += 1;
    else different.offsets += 1;
    if (shown++ < SHOWN) console.log(`${fields.join(', ')}: ${JSON.stringify(text)}`);
  }
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  const before = process.cpuUsage();
  for (const text of texts) ours.encode(text);
  const { user, system } = process.cpuUsage(before);
  table[name] = {
    texts: texts.length,
    'other ids': different.ids,
    'other places alone': different.offsets,
    'processor µs a character': Number(((user + system) / characters).toFixed(2)),
  };
}
console.log(machine());
console.table(table);
