import { stemmer } from 'stemmer';
import { ModelFolderError } from '../contract/index.js';
import { decodeSafetensors, encodeSafetensors, type IntegerTensor } from '../models/index.js';
import {
  fields,
  flag,
  type JsonShape,
  number,
  runToEnd,
  type Scored,
  type Steps,
  topScores,
  utf8Text,
} from '../system/index.js';
import { parseEntry } from './expert-file.js';
import { RecentEntries, withRoom } from './hash-table.js';

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

interface Contents {
  readonly settings: Settings;
  readonly terms: readonly string[];
  readonly postings: Postings;
  /** [passages] */
  readonly lengths: Int32Array;
}

/**
 * Okapi BM25 (Robertson & Zaragoza 2009, eq. 3.15); idf, never negative, is ln(1 + (N − n + ½) / (n + ½)). Passages can be
 * added and deleted. The scores of those that are left are what a new index of them would give.
 */
export class Bm25Index {
  readonly #settings: Settings;
  readonly #terms: string[];
  readonly #termIds = new Map<string, number>();
  /** Of the passages that the index was made with. */
  readonly #postings: Postings;
  /** Of the passages added since, for each term: passage, frequency, passage, frequency… */
  readonly #added = new Map<number, number[]>();
  /** [at least passages] */
  #lengths: Int32Array;
  #size: number;
  readonly #deleted = new Set<number>();
  /** The number of deleted passages with a term. */
  readonly #lost = new Map<number, number>();
  /** Words of all passages that are not deleted. */
  #words = 0;
  /** k1 · (1 − b + b · length / mean length) of each passage; undefined after a change. [passages] */
  #dampers: Float32Array | undefined;
  /** The term of each word that was asked for lately: a stem takes longer than its postings. */
  readonly #remembered = new RecentEntries<string, number>(REMEMBERED_WORDS);

  private constructor({ settings, terms, postings, lengths }: Contents) {
    this.#settings = settings;
    this.#terms = [...terms];
    this.#postings = postings;
    this.#lengths = lengths;
    this.#size = lengths.length;
    for (let id = 0; id < terms.length; id += 1) this.#termIds.set(terms[id] ?? '', id);
    for (let passage = 0; passage < lengths.length; passage += 1) this.#words += lengths[passage] ?? 0;
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

  /** Number of passages, with the deleted ones: ids stay as they are. */
  get size(): number {
    return this.#size;
  }

  /** The passage gets the next id. */
  add(passage: string): void {
    const id = this.#size;
    const words = searchWords(passage);
    for (const [term, frequency] of countsOf(words.map((word) => this.#idOf(word) ?? this.#newTerm(word)))) {
      const entries = this.#added.get(term) ?? [];
      if (entries.length === 0) this.#added.set(term, entries);
      entries.push(id, Math.min(MAX_FREQUENCY, frequency));
    }
    this.#size += 1;
    this.#lengths = withRoom(this.#lengths, this.#size);
    this.#lengths[id] = words.length;
    this.#words += words.length;
    this.#dampers = undefined;
  }

  /** @param passage its text, which says what terms are rarer from now on. */
  delete(id: number, passage: string): void {
    if (this.#deleted.has(id)) return;
    const words = searchWords(passage);
    for (const term of countsOf(words.flatMap((word) => this.#idOf(word) ?? [])).keys()) {
      this.#lost.set(term, (this.#lost.get(term) ?? 0) + 1);
    }
    this.#deleted.add(id);
    this.#words -= words.length;
    this.#dampers = undefined;
  }

  /** The passages that are not deleted, numbered anew in their order. */
  *compacting(): Steps<Bm25Index> {
    if (this.#added.size === 0 && this.#deleted.size === 0) return this;
    const lengths: number[] = [];
    const newIds = new Int32Array(this.#size);
    for (let id = 0; id < this.#size; id += 1) {
      newIds[id] = this.#deleted.has(id) ? -1 : lengths.push(this.#lengths[id] ?? 0) - 1;
    }
    const starts = new Int32Array(this.#terms.length + 1);
    for (let term = 0; term < this.#terms.length; term += 1) {
      starts[term + 1] = (starts[term] ?? 0) + this.#containing(term);
    }
    const entries = starts.at(-1) ?? 0;
    const postings = { starts, passages: new Int32Array(entries), frequencies: new Int8Array(entries) };
    let entry = 0;
    for (let term = 0; term < this.#terms.length; term += 1) {
      yield;
      this.#forEach(term, (passage, frequency) => {
        const id = newIds[passage] ?? -1;
        if (id < 0) return;
        postings.passages[entry] = id;
        postings.frequencies[entry] = frequency;
        entry += 1;
      });
    }
    return new Bm25Index({
      settings: this.#settings,
      terms: this.#terms,
      postings,
      lengths: Int32Array.from(lengths),
    });
  }

  /** 0 if it shares no word with the query, or was deleted. [passages] */
  scores(query: string): Float32Array {
    const scores = new Float32Array(this.#size);
    const dampers = this.#allDampers();
    const { k1 } = this.#settings;
    for (const [term, count] of this.#queryTerms(query)) {
      const weight = count * inverseFrequency(this.#containing(term), this.#left) * (k1 + 1);
      this.#forEach(term, (passage, frequency) => {
        const gain = (weight * frequency) / (frequency + (dampers[passage] ?? 0));
        scores[passage] = (scores[passage] ?? 0) + gain;
      });
    }
    for (const id of this.#deleted) scores[id] = 0;
    return scores;
  }

  search(query: string, limit = this.size): Scored[] {
    return topScores(this.scores(query), limit, 0);
  }

  /** The score of endless repetition of each word; words that no passage has count as the rarest. */
  bestPossible(query: string): number {
    return searchWords(query).reduce((sum, word) => {
      const term = this.#idOf(word);
      const containing = term === undefined ? 0 : this.#containing(term);
      return sum + inverseFrequency(containing, this.#left) * (this.#settings.k1 + 1);
    }, 0);
  }

  /** Which words of a passage the query has too. */
  shares(query: string, words: readonly string[]): boolean[] {
    const terms = this.#queryTerms(query);
    const isShared = (word: string) => {
      const term = this.#idOf(word);
      return term !== undefined && terms.has(term);
    };
    return words.map((word) => searchWords(word).some(isShared));
  }

  /** Number of passages that are not deleted. */
  get #left(): number {
    return this.#size - this.#deleted.size;
  }

  /** Number of passages that have a term and are not deleted. */
  #containing(term: number): number {
    const { starts } = this.#postings;
    const start = starts[term] ?? 0;
    const atFirst = (starts[term + 1] ?? start) - start;
    return atFirst + (this.#added.get(term)?.length ?? 0) / 2 - (this.#lost.get(term) ?? 0);
  }

  /** Calls `visit` with each passage that has a term, deleted ones too, in ascending order. */
  #forEach(term: number, visit: (passage: number, frequency: number) => void): void {
    const { starts, passages, frequencies } = this.#postings;
    const start = starts[term] ?? 0;
    const end = starts[term + 1] ?? start; // later terms have no entries here
    for (let entry = start; entry < end; entry += 1) visit(passages[entry] ?? 0, frequencies[entry] ?? 0);
    const added = this.#added.get(term) ?? [];
    for (let entry = 0; entry < added.length; entry += 2) visit(added[entry] ?? 0, added[entry + 1] ?? 0);
  }

  #allDampers(): Float32Array {
    if (this.#dampers) return this.#dampers;
    const { k1, b } = this.#settings;
    const mean = this.#words / Math.max(1, this.#left);
    const lengths = this.#lengths.subarray(0, this.#size);
    this.#dampers = Float32Array.from(lengths, (length) => k1 * (1 - b + (b * length) / (mean || 1)));
    return this.#dampers;
  }

  #queryTerms(query: string): ReadonlyMap<number, number> {
    return countsOf(searchWords(query).flatMap((word) => this.#idOf(word) ?? []));
  }

  #idOf(word: string): number | undefined {
    const remembered = this.#remembered.get(word);
    if (remembered !== undefined) return remembered;
    const id = this.#termIds.get(termOf(word, this.#settings));
    if (id !== undefined) this.#remembered.set(word, id);
    return id;
  }

  #newTerm(word: string): number {
    const term = termOf(word, this.#settings);
    const id = this.#terms.push(term) - 1;
    this.#termIds.set(term, id);
    return id;
  }

  /** What {@link encodeBm25} writes, of passages that were neither added nor deleted. */
  get contents(): Contents {
    return { settings: this.#settings, terms: this.#terms, postings: this.#postings, lengths: this.#lengths };
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
    const joined = utf8Text(new Uint8Array(text.buffer, text.byteOffset, text.length));
    const terms = joined === '' ? [] : joined.split(TERM_SEPARATOR);
    const postings = { starts, passages, frequencies };
    const problem = findPostingsProblem(postings, terms.length, lengths);
    if (problem) throw refused(problem);
    return new Bm25Index({ settings, terms, postings, lengths });
  }
}

/** Five bytes for each distinct word of each passage. */
export function encodeBm25(index: Bm25Index): Uint8Array {
  const { settings, terms, postings, lengths } = runToEnd(index.compacting()).contents;
  const text = new Int8Array(new TextEncoder().encode(terms.join(TERM_SEPARATOR)));
  const tensors = new Map<string, IntegerTensor>(
    Object.entries({ terms: text, ...postings, lengths }).map(([name, values]) => [
      name,
      { shape: [values.length], values },
    ]),
  );
  return encodeSafetensors(tensors, { bm25: JSON.stringify(settings) });
}

function countsOf(terms: Iterable<number>): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
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

/** Higher counts hardly change a BM25 score. */
const MAX_FREQUENCY = 127;

class PostingsBuilder {
  #terms = new Int32Array(1024);
  #passages = new Int32Array(1024);
  #frequencies = new Int32Array(1024);
  #entries = 0;
  #passageCount = 0;

  /** @param terms repeated as often as they occur. */
  addPassage(terms: Iterable<number>): void {
    const frequencies = countsOf(terms);
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
