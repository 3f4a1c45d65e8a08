/** Reads the model of a tokenizer.json. */
import { ModelFolderError } from '../../errors.js';
import {
  either,
  fields,
  flag,
  listOf,
  nullable,
  number,
  pairOf,
  recordOf,
  requireShape,
  shaped,
  shortText,
  text,
  whole,
} from '../../json-shape.js';
import { PieceBuffer } from '../encoding.js';
import { idShape, UnknownPartError } from '../tokenizer-json.js';
import { type WordPieceOptions, WordPieceVocabulary } from '../word-piece-tokenizer.js';
import { BytePairModel, type Merge } from './byte-pair-model.js';
import { bytePiece, type PieceModel, type WordPieces } from './piece-model.js';
import { UnigramModel } from './unigram-model.js';

/** Most UTF-16 code units of a piece: at each place of a text it is looked up so far. SentencePiece's have 16. */
const MAX_PIECE = 1024;
const MAX_AFFIX = 64;
const MAX_WORD_CHARACTERS = 1000;
const DEFAULT_WORD_CHARACTERS = 100;

const affix = nullable(shortText(MAX_AFFIX));
const unigramShape = fields(
  { vocab: listOf(pairOf(shortText(MAX_PIECE), number())), unk_id: nullable(idShape) },
  { byte_fallback: flag },
);
const bytePairShape = fields(
  { vocab: recordOf(idShape), merges: listOf(either(text, pairOf(text, text))) },
  {
    unk_token: nullable(text),
    dropout: nullable(number(0, 1)),
    fuse_unk: flag,
    byte_fallback: flag,
    ignore_merges: flag,
    continuing_subword_prefix: affix,
    end_of_word_suffix: affix,
  },
);
const wordPieceShape = fields(
  { vocab: recordOf(idShape) },
  {
    unk_token: text,
    continuing_subword_prefix: text,
    max_input_chars_per_word: whole(1, MAX_WORD_CHARACTERS),
  },
);
const typeShape = fields({}, { type: text });
const listedShape = fields({ vocab: listOf(pairOf(text, number())) }, {});
const mergedShape = fields({ merges: listOf(either(text, pairOf(text, text))) }, {});

/**
 * @param file named in errors.
 * @throws UnknownPartError for another type. @throws ModelFolderError for wrong fields.
 */
export function makePieceModel(part: unknown, file: string): PieceModel {
  const type = requireShape(typeShape, part, file, 'model').type ?? impliedType(part);
  if (type === 'Unigram') return unigram(part, file);
  if (type === 'BPE') return bytePairs(part, file);
  if (type === 'WordPiece') return wordPieces(part, file);
  throw new UnknownPartError(`the model ${type}`);
}

/** Files written before 2021 don't say. */
function impliedType(part: unknown): string {
  if (shaped(listedShape, part)) return 'Unigram';
  return shaped(mergedShape, part) ? 'BPE' : 'WordPiece';
}

function unigram(part: unknown, file: string): UnigramModel {
  const { vocab, unk_id, byte_fallback = false } = requireShape(unigramShape, part, file, 'model');
  if (unk_id === null) throw new UnknownPartError('a Unigram model without unk_id');
  if (unk_id >= vocab.length) {
    throw new ModelFolderError(file, `model.unk_id: ${unk_id} is not an entry of model.vocab`);
  }
  return new UnigramModel({ pieces: vocab, unknownId: unk_id, byteFallback: byte_fallback });
}

function bytePairs(part: unknown, file: string): BytePairModel {
  const fields = requireShape(bytePairShape, part, file, 'model');
  const { unk_token, byte_fallback = false, fuse_unk = false, ignore_merges = false } = fields;
  if ((fields.dropout ?? 0) > 0) throw new UnknownPartError('merges left out at random (dropout)');
  const vocabulary = new Map(Object.entries(fields.vocab));
  if (byte_fallback && !hasAllBytes(vocabulary))
    throw new UnknownPartError('byte_fallback without all 256 bytes');
  const continuingPrefix = fields.continuing_subword_prefix ?? '';
  return new BytePairModel({
    vocabulary,
    merges: readMerges(fields.merges, vocabulary, continuingPrefix, file),
    unknownId: typeof unk_token === 'string' ? vocabulary.get(unk_token) : undefined,
    fusesUnknown: fuse_unk,
    byteFallback: byte_fallback,
    ignoresMerges: ignore_merges,
    continuingPrefix,
    wordSuffix: fields.end_of_word_suffix ?? '',
  });
}

function hasAllBytes(vocabulary: ReadonlyMap<string, number>): boolean {
  for (let byte = 0; byte < 256; byte++) if (!vocabulary.has(bytePiece(byte))) return false;
  return true;
}

/** @throws ModelFolderError for one of pieces that don't exist */
function readMerges(
  merges: readonly (string | readonly [string, string])[],
  vocabulary: ReadonlyMap<string, number>,
  continuingPrefix: string,
  file: string,
): Merge[] {
  return merges.map((merge, rank) => {
    const [left, right] = typeof merge === 'string' ? splitMerge(merge) : merge;
    const ids = [left, right, left + right.slice(continuingPrefix.length)].map((piece) =>
      vocabulary.get(piece),
    );
    const [leftId, rightId, merged] = ids;
    if (leftId === undefined || rightId === undefined || merged === undefined) {
      throw new ModelFolderError(
        file,
        `model.merges.${rank}: it or one of its two pieces is not in model.vocab`,
      );
    }
    return { left: leftId, right: rightId, merged };
  });
}

/** As older files write them. */
function splitMerge(merge: string): [string, string] {
  const space = merge.indexOf(' ');
  return [merge.slice(0, space), merge.slice(space + 1)];
}

function wordPieces(part: unknown, file: string): WordPieceModel {
  const fields = requireShape(wordPieceShape, part, file, 'model');
  const vocabulary = new Map(Object.entries(fields.vocab));
  const { unk_token = '[UNK]', continuing_subword_prefix = '##' } = fields;
  const unknownId = vocabulary.get(unk_token);
  if (unknownId === undefined) {
    throw new ModelFolderError(file, `model.unk_token: ${JSON.stringify(unk_token)} is not in model.vocab`);
  }
  return new WordPieceModel({
    vocabulary,
    unknownId,
    continuingPrefix: continuing_subword_prefix,
    maxCharactersPerWord: fields.max_input_chars_per_word ?? DEFAULT_WORD_CHARACTERS,
  });
}

class WordPieceModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number;
  readonly #pieces: WordPieceVocabulary;
  readonly #buffer = new PieceBuffer();

  constructor(options: WordPieceOptions) {
    this.vocabulary = options.vocabulary;
    this.unknownId = options.unknownId;
    this.#pieces = new WordPieceVocabulary(options);
  }

  split(characters: readonly string[]): WordPieces {
    const buffer = this.#buffer;
    buffer.clear();
    this.#pieces.split(wordOf(characters), buffer);
    const { length, ids, offsets } = buffer;
    const at = Array.from({ length }, (_, piece) => piece);
    return {
      ids: Array.from(ids.subarray(0, length)),
      from: at.map((piece) => offsets[2 * piece] ?? 0),
      to: at.map((piece) => offsets[2 * piece + 1] ?? 0),
    };
  }
}

/** Its code units, each with the character that it belongs to. */
function wordOf(characters: readonly string[]) {
  const joined = characters.join('');
  const length = joined.length;
  const units = new Uint16Array(length);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let at = 0;
  for (const [index, character] of characters.entries()) {
    for (let unit = 0; unit < character.length; unit++) {
      units[at] = joined.charCodeAt(at);
      starts[at] = index;
      ends[at++] = index + 1;
    }
  }
  return { units, starts, ends, length };
}
