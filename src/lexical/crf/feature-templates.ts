import { TRAITS, Trait } from './word-traits.js';

/** Traits that a word has by its place in the sentence, in the columns after {@link Trait}. */
export const Context = {
  /** First and last word of the run of capitalised words that it belongs to. */
  runFirst: TRAITS,
  runLast: TRAITS + 1,
  /** The words before and after that run. */
  runBefore: TRAITS + 2,
  runAfter: TRAITS + 3,
  /** How many words of the run precede and follow it. */
  runPlace: TRAITS + 4,
  /** How many words precede and follow it in the sentence, each counted up to 3. */
  place: TRAITS + 5,
  sentenceLength: TRAITS + 6,
  sentenceFirst: TRAITS + 7,
  sentenceLast: TRAITS + 8,
} as const;
/** Columns of a word's row of traits. */
export const COLUMNS = TRAITS + 9;
/** How far from a word the templates look. */
export const REACH = 2;

/** A trait, and the word that has it: 0 for the word itself, −1 for the one before it. */
export type Part = readonly [column: number, offset: number];

/** One feature for each offset. */
const single = (column: number, offsets: readonly number[] = [0]): Part[][] =>
  offsets.map((offset) => [[column, offset]]);
/** One feature made of several traits. */
const joint = (...parts: Part[]): Part[][] => [parts];

/**
 * Each template gives a word one feature, the hash of its parts, or none if a part is missing. The position
 * in this list is part of the hash: a change of order needs a new version in crf-expert.ts.
 */
export const templates: readonly (readonly Part[])[] = [
  single(Trait.word),
  single(Trait.lower, [-2, -1, 0, 1, 2]),
  single(Trait.shape, [-1, 0, 1]),
  single(Trait.foldedShape, [-2, -1, 0, 1, 2]),
  single(Trait.classes),
  single(Trait.prefix1),
  single(Trait.prefix2),
  single(Trait.prefix3, [-1, 0, 1]),
  single(Trait.prefix4),
  single(Trait.suffix1),
  single(Trait.suffix2),
  single(Trait.suffix3, [-2, -1, 0, 1, 2]),
  single(Trait.suffix4),
  joint([Trait.lower, -1], [Trait.lower, 0]),
  joint([Trait.lower, 0], [Trait.lower, 1]),
  joint([Trait.lower, -2], [Trait.lower, -1]),
  joint([Trait.lower, 1], [Trait.lower, 2]),
  joint([Trait.lower, -1], [Trait.lower, 1]),
  joint([Trait.lower, -1], [Trait.foldedShape, 0]),
  joint([Trait.foldedShape, 0], [Trait.lower, 1]),
  joint([Trait.foldedShape, -1], [Trait.foldedShape, 0]),
  joint([Trait.foldedShape, 0], [Trait.foldedShape, 1]),
  joint([Trait.foldedShape, -1], [Trait.foldedShape, 0], [Trait.foldedShape, 1]),
  joint([Trait.foldedShape, -2], [Trait.foldedShape, -1], [Trait.foldedShape, 0]),
  joint([Trait.foldedShape, 0], [Trait.foldedShape, 1], [Trait.foldedShape, 2]),
  joint([Trait.suffix3, -1], [Trait.suffix3, 0]),
  joint([Trait.suffix3, 0], [Trait.suffix3, 1]),
  joint([Trait.suffix3, 0], [Trait.foldedShape, 0]),
  single(Context.runFirst),
  single(Context.runLast),
  single(Context.runBefore),
  single(Context.runAfter),
  single(Context.runPlace),
  joint([Context.runPlace, 0], [Context.runLast, 0]),
  joint([Context.runBefore, 0], [Context.runAfter, 0]),
  single(Context.place),
  joint([Context.place, 0], [Trait.foldedShape, 0]),
  single(Context.sentenceLength),
  joint([Context.sentenceLength, 0], [Context.place, 0]),
  single(Context.sentenceFirst),
  single(Context.sentenceLast),
].flat();

/** The most features that a word can have. */
export const MAX_FEATURES_A_WORD = templates.length;
