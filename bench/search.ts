import { parseArgs } from 'node:util';
import MiniSearch from 'minisearch';
import { encodeVectors, VectorIndex } from '../src/families/index.js';
import { Bm25Index, encodeBm25 } from '../src/lexical/index.js';
import { Random } from '../src/system/index.js';
import { machine, median } from './report.js';

/**
 * Searching 100,000 passages on one core: vectors as bytes against float32, and BM25 against MiniSearch.
 * Usage: `npm run bench -- search [--passages 100000] [--width 384] [--minisearch]`
 */

const { values: options } = parseArgs({
  options: {
    passages: { type: 'string', default: '100000' },
    width: { type: 'string', default: '384' },
    minisearch: { type: 'boolean', default: false },
  },
});
const count = Number(options.passages);
const width = Number(options.width);
const QUERIES = 200;
const K = 10;
/** Vectors in a cluster, at a cosine of about 0.8 to its centre. */
const CLUSTER_SIZE = 100;
const CLUSTER_SPREAD = 0.75;
const WORDS_PER_PASSAGE = 100;
const VOCABULARY = 200_000;

const random = Random.fromSeed(1);
const milliseconds = (value: number) => Number(value.toFixed(2));
const megabytes = (bytes: number) => Math.round(bytes / 1e6);

/** How long `work` takes in milliseconds, and its result. */
function timed<T>(work: () => T): { ms: number; value: T } {
  const start = performance.now();
  const value = work();
  return { ms: performance.now() - start, value };
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((element) => element / length);
}

const randomVector = () => unit(Float32Array.from({ length: width }, () => random.normal()));

/** A vector near another one. */
function near(middle: Float32Array): Float32Array {
  const offset = randomVector();
  return unit(middle.map((element, i) => element + CLUSTER_SPREAD * (offset[i] ?? 0)));
}

function measureVectors(next: () => Float32Array) {
  const vectors = new Float32Array(count * width);
  for (let id = 0; id < count; id += 1) vectors.set(next(), id * width);
  const built = timed(() => VectorIndex.fromVectors(vectors, width));
  const bytes = encodeVectors(built.value);
  const loaded = timed(() => VectorIndex.decode(bytes, 'the vectors'));
  const index = loaded.value;
  const fast: number[] = [];
  const exact: number[] = [];
  let found = 0;
  for (let query = 0; query < QUERIES; query += 1) {
    const vector = next();
    const ours = timed(() => index.search(vector, K));
    const truth = timed(() => index.searchExact(vector, K));
    const right = new Set(truth.value.map(({ id }) => id));
    found += ours.value.filter(({ id }) => right.has(id)).length;
    fast.push(ours.ms);
    exact.push(truth.ms);
  }
  return {
    'top 10 (ms)': milliseconds(median(fast)),
    'float32 (ms)': milliseconds(median(exact)),
    recall: found / (K * QUERIES),
    'build (ms)': Math.round(built.ms),
    'load (ms)': Math.round(loaded.ms),
    'file (MB)': megabytes(bytes.length),
    'memory (MB)': megabytes(index.memoryBytes),
  };
}

/** Words by Zipf's law: the n-th most frequent occurs 1/n as often as the first. */
const words = (length: number) =>
  Array.from({ length }, () => `w${Math.floor(VOCABULARY ** random.uniform()).toString(36)}`).join(' ');

function measureBm25(passages: readonly string[], queries: readonly string[]) {
  const built = timed(() => Bm25Index.fromPassages(passages, { stem: true }));
  const bytes = encodeBm25(built.value);
  const loaded = timed(() => Bm25Index.decode(bytes, 'the index'));
  return {
    'top 10 (ms)': milliseconds(median(queries.map((query) => timed(() => loaded.value.search(query, K)).ms))),
    'build (ms)': Math.round(built.ms),
    'load (ms)': Math.round(loaded.ms),
    'file (MB)': megabytes(bytes.length),
  };
}

function measureMiniSearch(passages: readonly string[], queries: readonly string[]) {
  const settings = { fields: ['text'] };
  const built = timed(() => {
    const index = new MiniSearch(settings);
    index.addAll(passages.map((text, id) => ({ id, text })));
    return index;
  });
  const json = JSON.stringify(built.value);
  const loaded = timed(() => MiniSearch.loadJSON(json, settings));
  return {
    'top 10 (ms)': milliseconds(median(queries.map((query) => timed(() => loaded.value.search(query).slice(0, K)).ms))),
    'build (ms)': Math.round(built.ms),
    'load (ms)': Math.round(loaded.ms),
    'file (MB)': megabytes(Buffer.byteLength(json)),
  };
}

console.log(machine());
const middles = Array.from({ length: Math.ceil(count / CLUSTER_SIZE) }, randomVector);
console.log(`\n${count} vectors of ${width}, ${QUERIES} queries; times are medians`);
console.table({
  random: measureVectors(randomVector),
  clustered: measureVectors(() => near(middles[random.integer(middles.length)] ?? randomVector())),
});

const passages = Array.from({ length: count }, () => words(WORDS_PER_PASSAGE));
const queries = Array.from({ length: 50 }, () => words(10));
console.log(`\n${count} passages of ${WORDS_PER_PASSAGE} words, queries of 10`);
console.table({
  Bm25Index: measureBm25(passages, queries),
  ...(options.minisearch ? { MiniSearch: measureMiniSearch(passages, queries) } : {}),
});
