import { whitespace } from './character-classes.js';
import { assemble, PieceBuffer, type SpecialTokenTemplates } from './encoding.js';
import { PieceTrie } from './piece-trie.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import { type BertNormalization, WordReader } from './word-reader.js';

/**
 * BERT's own tokenizer: a single pass over the text, exact offsets, the same ids as the Rust `tokenizers`
 * package.
 */

/** A token that is recognised if it is written out in a text, before normalisation. */
interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Whether its span includes the white space to its left, or to its right. */
  readonly stripLeft: boolean;
  readonly stripRight: boolean;
}

interface WordPieceTokenizerOptions extends WordPieceOptions {
  readonly normalization: BertNormalization;
  readonly addedTokens: readonly AddedToken[];
  readonly specialTokens: SpecialTokenIds;
  readonly templates: SpecialTokenTemplates;
}

export class WordPieceTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly specialTokens: SpecialTokenIds;
  /** By id; made when first asked for. */
  #tokens: readonly (string | undefined)[] | undefined;
  readonly #templates: SpecialTokenTemplates;
  readonly #words: WordReader;
  readonly #vocabulary: WordPieceVocabulary;
  readonly #pieces: ReadonlyMap<string, number>;
  readonly #addedTokens: ReadonlyMap<string, AddedToken>;
  /** Finds the longest added token at the leftmost place; undefined if there are none. */
  readonly #addedTokenPattern: RegExp | undefined;
  readonly #first = new PieceBuffer();
  readonly #second = new PieceBuffer();

  constructor(options: WordPieceTokenizerOptions) {
    this.specialTokens = options.specialTokens;
    this.#templates = options.templates;
    this.#words = new WordReader(options.normalization);
    this.#vocabulary = new WordPieceVocabulary(options);
    this.#addedTokens = new Map(options.addedTokens.map((token) => [token.content, token]));
    this.#addedTokenPattern = addedTokenPattern([...this.#addedTokens.keys()]);
    this.#pieces = options.vocabulary;
    this.vocabularySize = 1 + highestId(options);
  }

  encode(text: string, { maxLength, pair }: EncodeOptions = {}): Encoding {
    this.#findPieces(text, this.#first);
    if (pair === undefined) return assemble(this.#templates.single, [this.#first], maxLength);
    this.#findPieces(pair, this.#second);
    return assemble(this.#templates.pair, [this.#first, this.#second], maxLength);
  }

  token(id: number): string | undefined {
    this.#tokens ??= tokensById(this.#pieces, this.#addedTokens);
    return this.#tokens[id];
  }

  #findPieces(text: string, pieces: PieceBuffer): void {
    pieces.clear();
    const pattern = this.#addedTokenPattern;
    let done = 0;
    if (pattern !== undefined) {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const token = this.#addedTokens.get(match[0]);
        if (token === undefined) continue;
        let start = match.index;
        let end = pattern.lastIndex;
        if (token.stripLeft) while (start > done && isSpace(text, start - 1)) start--;
        if (token.stripRight) while (end < text.length && isSpace(text, end)) end++;
        this.#findWords(text, done, start, pieces);
        pieces.push(token.id, start, end);
        done = end;
      }
    }
    this.#findWords(text, done, text.length, pieces);
  }

  #findWords(text: string, start: number, end: number, pieces: PieceBuffer): void {
    const words = this.#words;
    words.read(text, start, end);
    while (words.next()) this.#vocabulary.split(words, pieces);
  }
}

/** Unicode's white space, not that of `\s`, which includes U+FEFF and excludes U+0085. */
function isSpace(text: string, at: number): boolean {
  return whitespace.has(text.charCodeAt(at));
}

function addedTokenPattern(contents: readonly string[]): RegExp | undefined {
  if (contents.length === 0) return undefined;
  const longestFirst = [...contents].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map((content) => content.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}

function highestId({ vocabulary, addedTokens }: WordPieceTokenizerOptions): number {
  let highest = -1;
  for (const id of vocabulary.values()) if (id > highest) highest = id;
  for (const { id } of addedTokens) if (id > highest) highest = id;
  return highest;
}

function tokensById(
  vocabulary: ReadonlyMap<string, number>,
  addedTokens: ReadonlyMap<string, AddedToken>,
): (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  for (const [token, id] of vocabulary) tokens[id] = token;
  for (const { content, id } of addedTokens.values()) tokens[id] = content;
  return tokens;
}

export interface WordPieceOptions {
  /** Piece to id. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Id of the token for a word that can't be split. */
  readonly unknownId: number;
  /** What pieces inside a word start with in the vocabulary: `##`. */
  readonly continuingPrefix: string;
  /** A word of more characters (code points) is unknown as a whole. */
  readonly maxCharactersPerWord: number;
}

/** A word as WordReader gives it. */
type Word = Pick<WordReader, 'units' | 'starts' | 'ends' | 'length'>;

export class WordPieceVocabulary {
  readonly #trie: PieceTrie;
  readonly #unknownId: number;
  readonly #maxCharactersPerWord: number;

  constructor({ vocabulary, unknownId, continuingPrefix, maxCharactersPerWord }: WordPieceOptions) {
    this.#trie = new PieceTrie(vocabulary, continuingPrefix);
    this.#unknownId = unknownId;
    this.#maxCharactersPerWord = maxCharactersPerWord;
  }

  /** Adds the pieces of a word, or only the unknown token if a part of the word is not a piece. */
  split(word: Word, pieces: PieceBuffer): void {
    const { units, starts, ends, length } = word;
    const trie = this.#trie;
    const before = pieces.length;
    let start = 0;
    let stuck = isLongerThan(word, this.#maxCharactersPerWord);
    while (start < length && !stuck) {
      const end = trie.longest(units, start, length);
      stuck = end === start;
      if (!stuck) pieces.push(trie.id, starts[start] ?? 0, ends[end - 1] ?? 0);
      start = end;
    }
    if (!stuck) return;
    pieces.length = before;
    pieces.push(this.#unknownId, starts[0] ?? 0, ends[length - 1] ?? 0);
  }
}

/** Whether a word has more than `limit` code points. */
function isLongerThan({ units, length }: Word, limit: number): boolean {
  if (length <= limit) return false;
  let characters = 0;
  for (let i = 0; i < length && characters <= limit; i++) {
    const isSecondOfPair = ((units[i] ?? 0) & 0xfc00) === 0xdc00;
    if (!isSecondOfPair) characters++;
  }
  return characters > limit;
}
