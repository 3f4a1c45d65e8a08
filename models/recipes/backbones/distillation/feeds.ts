import { PADDING_BIAS } from '../../../../src/encoder/index.js';
import type { TensorData } from '../../../../src/graph/index.js';
import type { TokenRange } from './aligned-spans.js';
import type { Course, Curriculum, Relations } from './courses.js';
import { TOTAL } from './distillation-head.js';
import { relationInputs } from './relations-loss.js';
import type { TextRows } from './targets.js';
import type { Track } from './track.js';

/** A text of a batch as one teacher sees it. */
export interface TaughtText {
  /** Of the student. */
  readonly tokens: number;
  /** In the student's tokens. */
  readonly spans: readonly TokenRange[];
  /** The teacher's vectors. They hold until the next are asked for. */
  rows(track: Track): TextRows;
}

/** The texts of a batch, in its order, for each teacher by its name. */
export type TaughtBatch = (teacher: string) => readonly TaughtText[];

/** By how much each part of the curriculum counts in a batch; default: as the plan says. */
export type Emphasis = (part: Course | Relations) => { readonly passages: number; readonly spans: number };

export const asPlanned: Emphasis = (part) =>
  'heads' in part ? { passages: 0, spans: part.weight } : { passages: part.passages, spans: part.spans };

type Feeds = Record<string, TensorData>;

/** The inputs of the distillation head's loss for a batch. */
export function distillationFeeds(
  { courses, relations }: Curriculum,
  taught: TaughtBatch,
  emphasis: Emphasis = asPlanned,
): Readonly<Feeds> {
  const feeds: Feeds = {};
  let total = 0;
  for (const course of courses) total += addCourse(feeds, course, taught(course.teacher), emphasis(course));
  for (const each of relations) addRelations(feeds, each, taught(each.teacher), emphasis(each).spans);
  feeds[TOTAL] = { type: 'float32', dims: [], data: Float32Array.of(total) };
  return feeds;
}

/** Which rows a text has: its passage, its spans, or both. */
function rowsOf({ tokens, spans }: TaughtText, { passages, spans: weight }: Course): TokenRange[] {
  return [...(passages > 0 ? [{ start: 0, end: tokens }] : []), ...(weight > 0 ? spans : [])];
}

/** @returns the sum of the weights of all rows. */
function addCourse(
  feeds: Feeds,
  course: Course,
  texts: readonly TaughtText[],
  weights: { readonly passages: number; readonly spans: number },
): number {
  const { name, track, teacherWidth } = course;
  const ranges = texts.map((text) => rowsOf(text, course));
  const layout = layoutOf(texts, ranges);
  const targets = new Float32Array(texts.length * layout.rows * teacherWidth);
  const hasPassages = course.passages > 0;
  const spanCount = ranges.reduce((sum, { length }) => sum + length - Number(hasPassages), 0);
  let total = 0;
  for (const [place, text] of texts.entries()) {
    const rows = text.rows(track);
    for (const at of (ranges[place] ?? []).keys()) {
      const isPassage = hasPassages && at === 0;
      const stored = hasPassages ? at : at + 1;
      const weight = isPassage ? weights.passages / texts.length : weights.spans / spanCount;
      const start = (place * layout.rows + at) * teacherWidth;
      total += scaleTo(rows.codes(stored), weight, targets.subarray(start, start + teacherWidth));
    }
  }
  feeds[`${name} averages`] = averages(texts.length, ranges, layout);
  const dims = [texts.length, layout.rows, teacherWidth];
  feeds[`${name} targets`] = { type: 'float32', dims, data: targets };
  return total;
}

function addRelations(
  feeds: Feeds,
  { name, tracks, teacherWidth, heads }: Relations,
  texts: readonly TaughtText[],
  weight: number,
): void {
  const ranges = texts.map(({ spans }) => spans);
  const layout = layoutOf(texts, ranges);
  const [batch, { rows }] = [texts.length, layout];
  const spanCount = ranges.reduce((sum, { length }) => sum + length, 0);
  const bias = new Float32Array(batch * rows).fill(PADDING_BIAS);
  const weights = new Float32Array(batch * rows);
  for (const [place, { length }] of ranges.entries()) {
    bias.fill(0, place * rows, place * rows + length);
    weights.fill(weight / (spanCount * heads), place * rows, place * rows + length);
  }
  const put = (part: string, dims: readonly number[], data: Float32Array) => {
    feeds[`${name} ${part}`] = { type: 'float32', dims, data };
  };
  feeds[`${name} ${relationInputs.averages}`] = averages(batch, ranges, layout);
  put(relationInputs.bias, [batch, 1, 1, rows], bias);
  put(relationInputs.weights, [batch, 1, rows, 1], weights);
  const parts = [relationInputs.queries, relationInputs.keys, relationInputs.values];
  for (const [at, track] of tracks.entries()) {
    const data = new Float32Array(batch * rows * teacherWidth);
    for (const [place, text] of texts.entries()) {
      const stored = text.rows(track);
      for (const span of text.spans.keys()) {
        const start = (place * rows + span) * teacherWidth;
        multiply(stored.codes(span + 1), stored.scale(span + 1), data.subarray(start, start + teacherWidth));
      }
    }
    put(parts[at] ?? '', [batch, rows, teacherWidth], data);
  }
}

interface Layout {
  /** Most rows and most tokens of any text; the others are filled up. */
  readonly rows: number;
  readonly tokens: number;
}

function layoutOf(texts: readonly TaughtText[], ranges: readonly (readonly TokenRange[])[]): Layout {
  return {
    rows: ranges.reduce((most, { length }) => Math.max(most, length), 1),
    tokens: texts.reduce((most, { tokens }) => Math.max(most, tokens), 0),
  };
}

/** [batch, rows, tokens]: the share of each token in each row's mean. */
function averages(batch: number, ranges: readonly (readonly TokenRange[])[], { rows, tokens }: Layout): TensorData {
  const data = new Float32Array(batch * rows * tokens);
  for (const [place, own] of ranges.entries()) {
    for (const [row, { start, end }] of own.entries()) {
      const first = (place * rows + row) * tokens;
      data.fill(1 / (end - start), first + start, first + end);
    }
  }
  return { type: 'float32', dims: [batch, rows, tokens], data };
}

/** Writes the vector with the direction of the codes and this length. @returns the length, 0 if all codes are 0. */
function scaleTo(codes: Int8Array, length: number, target: Float32Array): number {
  let squares = 0;
  for (let i = 0; i < codes.length; i += 1) squares += (codes[i] ?? 0) ** 2;
  if (squares === 0) return 0;
  multiply(codes, length / Math.sqrt(squares), target);
  return length;
}

function multiply(codes: Int8Array, factor: number, target: Float32Array): void {
  for (let i = 0; i < codes.length; i += 1) target[i] = (codes[i] ?? 0) * factor;
}
