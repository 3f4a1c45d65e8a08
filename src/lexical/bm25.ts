import { LRUCache } from 'lru-cache';
import { stemmer } from 'stemmer';
import { ModelFolderError } from '../contract/index.js';
import { decodeSafetensors, encodeSafetensors, type IntegerTensor } from '../models/index.js';
import { fields, flag, type JsonShape, number, runToEnd, type Scored, type Steps, topScores } from '../system/index.js';
import { parseEntry } from './expert-file.js';
import { withRoom } from './hash-table.js';

interface Bm25Options {
  /** Compare English words by their stems. */
  readonly stem: boolean;
  /** Default 1.2. */
  readonly k1?: number;
  /** Default 0.75. */
  readonly b?: number;
}

type Settings = Required<Bm25Options>;

const MAX_K1 = 1000;

const settingsShape: JsonShape<Settings> = fields(
  { stem: flag, k1: number(0, MAX_K1), b: number(0, 1) },
  {},
  'refused',
);

/** Robertson & Zaragoza 2009; measured in docs/retrieval.md. */
const DEFAULT_K1 = 1.2;
const DEFAULT_B = 0.75;

const TERM_SEPARATOR = '\n';

/** This takes some 2 MB. */
const REMEMBERED_WORDS = 20_000;
const NO_TERM = -1;

interface Contents {
  readonly settings: Settings;
  readonly terms: readonly string[];
  readonly postings: Postings;
  /** [passages] */
  readonly lengths: Int32Array;
}

/** Okapi BM25 (Robertson & Zaragoza 2009, eq. 3.15); idf, never negative, is ln(1 + (N − n + ½) / (n + ½)). */
export class Bm25Index {
  readonly #termIds = new Map<string, number>();
  /** k1 · (1 − b + b · length / mean length) of each passage. [passages] */
  readonly #dampers: Float32Array;
  readonly #contents: Contents;
  /** The term of each word that was asked for lately: a stem takes longer than its postings. */
  readonly #remembered = new LRUCache<string, number>({ max: REMEMBERED_WORDS });

  private constructor(contents: Contents) {
    this.#contents = contents;
    const { settings, terms, lengths } = contents;
    for (let id = 0; id < terms.length; id += 1) this.#termIds.set(terms[id] ?? '', id);
    let words = 0;
    for (let passage = 0; passage < lengths.length; passage += 1) words += lengths[passage] ?? 0;
    const mean = words / Math.max(1, lengths.length);
    this.#dampers = new Float32Array(lengths.length);
    for (let passage = 0; passage < lengths.length; passage += 1) {
      const length = lengths[passage] ?? 0;
      this.#dampers[passage] = settings.k1 * (1 - settings.b + (settings.b * length) / (mean || 1));
    }
  }

  /** Blocks its thread for about 4 s per 100,000 passages of 100 words. */
  static fromPassages(passages: Iterable<string>, options: Bm25Options): Bm25Index {
    return runToEnd(Bm25Index.indexing(passages, options));
  }

  static *indexing(passages: Iterable<string>, options: Bm25Options): Steps<Bm25Index> {
    const settings = { stem: options.stem, k1: options.k1 ?? DEFAULT_K1, b: options.b ?? DEFAULT_B };
    const numbering = new TermNumbering(settings);
    const builder = new PostingsBuilder();
    const lengths: number[] = [];
    for (const passage of passages) {
      yield;
      const words = searchWords(passage);
      builder.addPassage(words.map((word) => numbering.idOf(word)));
      lengths.push(words.length);
    }
    const { terms } = numbering;
    return new Bm25Index({
      settings,
      terms,
      postings: builder.build(terms.length),
      lengths: Int32Array.from(lengths),
    });
  }

  get size(): number {
    return this.#contents.lengths.length;
  }

  /** 0 if it shares no word with the query. [passages] */
  scores(query: string): Float32Array {
    const scores = new Float32Array(this.size);
    for (const [term, count] of this.#queryTerms(query)) this.#addTerm(term, count, scores);
    return scores;
  }

  search(query: string, limit = this.size): Scored[] {
    return topScores(this.scores(query), limit, 0);
  }

  /** The score of endless repetition of each word; words that no passage has count as the rarest. */
  bestPossible(query: string): number {
    const { settings, postings } = this.#contents;
    return searchWords(query).reduce((sum, word) => {
      const term = this.#idOf(word);
      const containing = term === NO_TERM ? 0 : (postings.starts[term + 1] ?? 0) - (postings.starts[term] ?? 0);
      return sum + inverseFrequency(containing, this.size) * (settings.k1 + 1);
    }, 0);
  }

  /** Which words of a passage the query has too. */
  shares(query: string, words: readonly string[]): boolean[] {
    const terms = this.#queryTerms(query);
    return words.map((word) => searchWords(word).some((each) => terms.has(this.#idOf(each))));
  }

  #queryTerms(query: string): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const word of searchWords(query)) {
      const id = this.#idOf(word);
      if (id !== NO_TERM) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  #idOf(word: string): number {
    const remembered = this.#remembered.get(word);
    if (remembered !== undefined) return remembered;
    const id = this.#termIds.get(termOf(word, this.#contents.settings)) ?? NO_TERM;
    this.#remembered.set(word, id);
    return id;
  }

  #addTerm(term: number, count: number, scores: Float32Array): void {
    const { postings, settings } = this.#contents;
    const { passages, frequencies } = postings;
    const dampers = this.#dampers;
    const start = postings.starts[term] ?? 0;
    const end = postings.starts[term + 1] ?? 0;
    const weight = count * inverseFrequency(end - start, this.size) * (settings.k1 + 1);
    for (let entry = start; entry < end; entry += 1) {
      const passage = passages[entry] ?? 0;
      const frequency = frequencies[entry] ?? 0;
      const gain = (weight * frequency) / (frequency + (dampers[passage] ?? 0));
      scores[passage] = (scores[passage] ?? 0) + gain;
    }
  }

  /** Five bytes for each distinct word of each passage. */
  encode(): Uint8Array {
    const { settings, terms, postings, lengths } = this.#contents;
    const text = new Int8Array(Buffer.from(terms.join(TERM_SEPARATOR)));
    const tensors = new Map<string, IntegerTensor>(
      Object.entries({ terms: text, ...postings, lengths }).map(([name, values]) => [
        name,
        { shape: [values.length], values },
      ]),
    );
    return encodeSafetensors(tensors, { bm25: JSON.stringify(settings) });
  }

  /** @param file named in errors. @throws ModelFolderError */
  static decode(bytes: Uint8Array, file: string): Bm25Index {
    const refused = (reason: string) => new ModelFolderError(file, reason);
    const { integers, metadata } = decodeSafetensors(bytes, file, { inPlace: true });
    const settings = parseEntry(settingsShape, metadata.bm25);
    if (settings === undefined) throw refused('its bm25 entry is missing or of a later version');
    const tensor = (name: string) => integers.get(name)?.values;
    const [text, starts, passages] = [tensor('terms'), tensor('starts'), tensor('passages')];
    const [frequencies, lengths] = [tensor('frequencies'), tensor('lengths')];
    const areBytes = text instanceof Int8Array && frequencies instanceof Int8Array;
    const areIntegers = starts instanceof Int32Array && passages instanceof Int32Array && lengths instanceof Int32Array;
    if (!areBytes || !areIntegers) {
      throw refused('one of terms, frequencies (I8), starts, passages, lengths (I32) is missing');
    }
    const joined = Buffer.from(text.buffer, text.byteOffset, text.length).toString('utf8');
    const terms = joined === '' ? [] : joined.split(TERM_SEPARATOR);
    const postings = { starts, passages, frequencies };
    const problem = findPostingsProblem(postings, terms.length, lengths);
    if (problem) throw refused(problem);
    return new Bm25Index({ settings, terms, postings, lengths });
  }
}

function inverseFrequency(containing: number, passages: number): number {
  return Math.log(1 + (passages - containing + 0.5) / (containing + 0.5));
}

function termOf(word: string, { stem }: Settings): string {
  return stem ? stemEnglish(word) : word;
}

class TermNumbering {
  readonly terms: string[] = [];
  readonly #ofWords = new Map<string, number>();
  readonly #ofTerms = new Map<string, number>();
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  idOf(word: string): number {
    const known = this.#ofWords.get(word);
    if (known !== undefined) return known;
    const term = termOf(word, this.#settings);
    const id = this.#ofTerms.get(term) ?? this.terms.length;
    if (id === this.terms.length) {
      this.terms.push(term);
      this.#ofTerms.set(term, id);
    }
    this.#ofWords.set(word, id);
    return id;
  }
}

interface Postings {
  /** Where each term's entries start; one more at the end. [terms + 1] */
  readonly starts: Int32Array;
  /** Ascending for each term. [entries] */
  readonly passages: Int32Array;
  /** At most {@link MAX_FREQUENCY}. [entries] */
  readonly frequencies: Int8Array;
}

/** Higher counts change a BM25 score by less than a hundredth. */
const MAX_FREQUENCY = 127;

class PostingsBuilder {
  #terms = new Int32Array(1024);
  #passages = new Int32Array(1024);
  #frequencies = new Int32Array(1024);
  #entries = 0;
  #passageCount = 0;

  /** @param terms repeated as often as they occur. */
  addPassage(terms: Iterable<number>): void {
    const frequencies = new Map<number, number>();
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    const end = this.#entries + frequencies.size;
    this.#terms = withRoom(this.#terms, end);
    this.#passages = withRoom(this.#passages, end);
    this.#frequencies = withRoom(this.#frequencies, end);
    for (const [term, frequency] of frequencies) {
      this.#terms[this.#entries] = term;
      this.#passages[this.#entries] = this.#passageCount;
      this.#frequencies[this.#entries] = Math.min(MAX_FREQUENCY, frequency);
      this.#entries += 1;
    }
    this.#passageCount += 1;
  }

  /** A counting sort, which keeps the passages ascending. */
  build(termCount: number): Postings {
    const terms = this.#terms.subarray(0, this.#entries);
    const starts = new Int32Array(termCount + 1);
    for (const term of terms) starts[term + 1] = (starts[term + 1] ?? 0) + 1;
    for (let term = 0; term < termCount; term += 1) starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    const next = starts.slice();
    const passages = new Int32Array(terms.length);
    const frequencies = new Int8Array(terms.length);
    for (const [entry, term] of terms.entries()) {
      const place = next[term] ?? 0;
      next[term] = place + 1;
      passages[place] = this.#passages[entry] ?? 0;
      frequencies[place] = this.#frequencies[entry] ?? 0;
    }
    return { starts, passages, frequencies };
  }
}

/** Undefined if nothing is wrong. */
function findPostingsProblem(postings: Postings, termCount: number, lengths: Int32Array): string | undefined {
  const passageCount = lengths.length;
  const { starts, passages, frequencies } = postings;
  if (starts.length !== termCount + 1) return `${termCount} terms need ${termCount + 1} starts`;
  if (starts[0] !== 0 || starts.at(-1) !== passages.length || !isAscending(starts)) return "its starts don't fit";
  if (frequencies.length !== passages.length) return 'passages and frequencies differ in length';
  if (!areBetween(frequencies, 1, MAX_FREQUENCY)) return 'a posting has no occurrence';
  if (!areBetween(lengths, 0, Number.POSITIVE_INFINITY)) return 'a passage has a length below 0';
  if (areBetween(passages, 0, passageCount - 1)) return undefined;
  return `a posting names a passage beyond the ${passageCount} there are`;
}

function isAscending(values: Int32Array): boolean {
  for (let at = 1; at < values.length; at += 1) if ((values[at] ?? 0) < (values[at - 1] ?? 0)) return false;
  return true;
}

/** A loop, since hundreds of thousands of values are looked at when a model is loaded. */
function areBetween(values: Int32Array | Int8Array, least: number, most: number): boolean {
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? 0;
    if (!(value >= least && value <= most)) return false;
  }
  return true;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that are written without spaces between words. */
const unspaced = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
/** The mark first, so that a look-behind is tried at marks only. */
const englishPossessive = /['’](?<=\p{L}.)s(?![\p{L}\p{N}\p{M}])/gu;

/** NFKC in lower case. In scripts without spaces between words, every two consecutive letters are a word. */
export function searchWords(text: string): string[] {
  const folded = text.normalize('NFKC').toLowerCase().replace(englishPossessive, '');
  const words = folded.match(word) ?? [];
  if (folded.search(unspaced) === -1) return words;
  return words.flatMap((each) => (each.search(unspaced) === -1 ? [each] : split(each)));
}

/** `東京tower` → `東京`, `tower`; `東京都` → `東京`, `京都`. */
function split(mixed: string): string[] {
  const runs = mixed.replace(unspaced, ' $& ').trim().split(/ +/);
  return runs.flatMap((run) => (run.search(unspaced) === -1 ? [run] : bigrams(run)));
}

function bigrams(run: string): string[] {
  const letters = [...run];
  if (letters.length < 2) return letters;
  return letters.slice(1).map((letter, before) => `${letters[before]}${letter}`);
}

/** Porter 1980; a word with other letters than a to z stays as it is. */
export function stemEnglish(word: string): string {
  return /^[a-z]+$/.test(word) ? stemmer(word) : word;
}
