import type { Encoding, Tokenizer } from '../../../../src/text/index.js';
import { alignedSpans, type TokenRange } from './aligned-spans.js';
import type { TokenStates } from './load-teacher.js';
import type { Means } from './target-folder.js';
import { rowBytes, writeRow } from './target-rows.js';
import type { Pooling } from './teachers.js';
import type { Track } from './track.js';

/** One passage as both read it. */
export interface ReadText {
  readonly taught: Encoding;
  readonly learned: Encoding;
  /** The teacher's tokens that each row is about: first the whole passage, then each span. */
  readonly ranges: readonly TokenRange[];
  /** The same spans in the student's tokens. */
  readonly spans: readonly TokenRange[];
}

export interface ReadingRules {
  readonly teacher: Tokenizer;
  readonly student: Tokenizer;
  readonly prefix: string;
  readonly pooling: Pooling;
  /** Most tokens of the student's. */
  readonly maxTokens: number;
}

export function readText(text: string, rules: ReadingRules): ReadText {
  const taught = rules.teacher.encode(rules.prefix + text);
  const learned = rules.student.encode(text, { maxLength: rules.maxTokens });
  const aligned = alignedSpans(withoutPrefix(taught, rules.prefix.length), learned);
  const passage = { start: 0, end: rules.pooling === 'first' ? 1 : taught.ids.length };
  return {
    taught,
    learned,
    ranges: [passage, ...aligned.map(({ first }) => first)],
    spans: aligned.map(({ second }) => second),
  };
}

/**
 * The encoding of a text that was read after a prefix of so many characters: places are those in the text, and the
 * prefix's tokens count as special ones, which stand for no character of it.
 */
export function withoutPrefix(encoding: Encoding, characters: number): Encoding {
  const { offsets, sequenceIds } = encoding;
  if (characters === 0 || offsets === null) return encoding;
  return {
    ...encoding,
    sequenceIds: sequenceIds.map((id, token) => ((offsets[2 * token] ?? 0) < characters ? -1 : id)),
    offsets: offsets.map((place) => Math.max(0, place - characters)),
  };
}

/** The mean of a track's rows over a range of a text's tokens, written into `mean`. */
export function meanOver(
  { batch, tracks }: TokenStates,
  track: Track,
  row: number,
  { start, end }: TokenRange,
  mean: Float32Array,
): void {
  const values = tracks.get(track) ?? new Float32Array();
  mean.fill(0);
  for (let token = start; token < end; token += 1) {
    const from = (token * batch + row) * mean.length;
    for (let i = 0; i < mean.length; i += 1) mean[i] = (mean[i] ?? 0) + (values[from + i] ?? 0);
  }
  const count = end - start;
  for (let i = 0; i < mean.length; i += 1) mean[i] = (mean[i] ?? 0) / count;
}

/** A text's rows of one track, as they are stored. @param means are subtracted. Default: nothing is. */
export function targetRows(
  { ranges }: ReadText,
  row: number,
  states: TokenStates,
  track: Track,
  width: number,
  means?: Means,
): Buffer {
  const rows = Buffer.alloc(ranges.length * rowBytes(width));
  const mean = new Float32Array(width);
  for (const [at, range] of ranges.entries()) {
    meanOver(states, track, row, range, mean);
    const common = at === 0 ? means?.passages : means?.spans;
    if (common) for (let i = 0; i < width; i += 1) mean[i] = (mean[i] ?? 0) - (common[i] ?? 0);
    writeRow(rows, at, mean);
  }
  return rows;
}
