import { type InferenceResult, MAX_QUERY_CHARACTERS, ValidationError } from '../contract/index.js';
import type { TagDoubt } from '../datasets/index.js';
import type { RuleName } from '../models/index.js';
import type { Encoding, TextOutputs, TextReader, TextWindow } from '../text/index.js';
import type { Word } from './words.js';

/** A word of the query, and how much it influenced an answer. */
export interface ExplainedWord {
  /** The word, as in the text. */
  readonly word: string;
  /** Where it starts, in UTF-16 code units from 0. */
  readonly start: number;
  /**
   * What the word adds to the log-odds of the answer or, for a passage, to its score before the softmax. Below 0, the
   * word counts against the answer.
   */
  readonly weight: number;
}

/** A word of a passage that also occurs in the question. */
export interface MatchedWord {
  /** The word, as in the passage. */
  readonly word: string;
  /** Where it starts in the passage, in UTF-16 code units from 0. */
  readonly start: number;
}

/** One answer of a result, and the words that influenced it. */
export interface ExplainedAnswer {
  /** A label, the type of an entity, or a passage. */
  readonly answer: string;
  /** As in `scores`. */
  readonly score: number;
  /** Its index in `labels`. */
  readonly position: number;
  /** Every word of the text, left to right; none if a rule gave the answer. */
  readonly words: readonly ExplainedWord[];
  /** Questions only: the words of the passage that also occur in the question, left to right. */
  readonly matches?: readonly MatchedWord[] | undefined;
  /** The rule that gave the answer, and what it matched. `words` is empty then. */
  readonly rule?: MatchedRule | undefined;
}

/** A rule, and the first place in the text where it matches. */
export interface MatchedRule {
  /** Its name or, without one, its position in the list, from 0. */
  readonly name: RuleName;
  /** What it matches, as in the text. */
  readonly text: string;
  /** Where it starts in the text, in UTF-16 code units from 0. */
  readonly start: number;
}

/** A result, and the words that influenced its answers. */
export interface Explanation extends InferenceResult {
  /**
   * Classification: the most probable label, or the one asked for. Entity labelling: each entity found. Questions: each of
   * the best passages.
   */
  readonly explained: readonly ExplainedAnswer[];
}

/** A result, and whether the model has an answer at all. */
export interface JudgedResult extends InferenceResult {
  /**
   * True if the best score is lower than those of the model's correct answers, so that perhaps none of its labels fits.
   * For a multilabel model: true if no label's score says yes. Present only if it was asked for.
   */
  readonly none_of_these?: boolean | undefined;
  /** The rule behind each label or entity; null for those that the model gave. Absent if no rule decided one. */
  readonly rules?: readonly (RuleName | null)[] | undefined;
}

/** A result from a model thread, with its explanation if that was asked for. */
export interface ModelResult extends JudgedResult {
  /** As of an {@link Explanation}; only where that was asked for. */
  readonly explained?: readonly ExplainedAnswer[];
  /** Entities: the words whose tags are not certain; only where that was asked for. */
  readonly doubts?: readonly TagDoubt[];
}

/** What to explain. */
export interface ExplanationChoice {
  /** Classification only: the label. Default: the most probable one. */
  readonly label?: string | undefined;
}

/** An explanation, or only the words of a text whose tags are not certain. */
export type AnswerDetail = ExplanationChoice | 'doubts';

interface LeftOut {
  readonly span: WordSpan;
  readonly outputs: TextOutputs;
}

/** Words [first, end) of a text. */
export interface WordSpan {
  readonly first: number;
  readonly end: number;
}

export interface Explainer {
  /** What the encoder reads for words that are left out: nothing, or masks, so that others keep their places. */
  readonly leavesOut: 'removed' | 'masked';
  wordsOf(text: string): readonly Word[];
  /**
   * In steps of some milliseconds each. @param outputs of the encoder for the whole text
   * @throws ValidationError for a choice that the model doesn't have
   */
  explain(
    text: string,
    words: readonly Word[],
    outputs: TextOutputs,
    leftOut: readonly LeftOut[],
    choice: ExplanationChoice,
  ): Generator<undefined, Explanation>;
}

/** How many times more the encoder reads a text, at most: in a longer text, neighbouring words are left out together. */
export const MAX_LEFT_OUT = 128;

export function spansToLeaveOut(words: number): WordSpan[] {
  const length = Math.max(1, Math.ceil(words / MAX_LEFT_OUT));
  const spans = Array.from({ length: Math.ceil(words / length) }, (_, at) => at * length);
  return spans.map((first) => ({ first, end: Math.min(words, first + length) }));
}

/** A text without some of its words, and without the white space before them. */
export function textWithout(text: string, words: readonly Word[], span: WordSpan): string {
  const { from, to } = placeOf(words, span);
  return text.slice(0, from).trimEnd() + text.slice(to);
}

/** Windows that have none of the words are those of the whole text. @param row of the text */
function windowsWithout(
  text: string,
  words: readonly Word[],
  span: WordSpan,
  { whole, row, reader, leavesOut }: WholeText,
): TextWindow[] {
  const windows =
    leavesOut === 'removed'
      ? reader.windowsOf(textWithout(text, words, span), row)
      : whole.map((window) => masked(window, placeOf(words, span), reader.specialTokens.mask));
  return windows.map((window, at) => {
    const same = whole[at];
    return same !== undefined && readsAlike(same.encoding, window.encoding) ? same : window;
  });
}

interface WholeText {
  readonly whole: readonly TextWindow[];
  readonly row: number;
  readonly reader: TextReader;
  readonly leavesOut: Explainer['leavesOut'];
}

export function shareByWords(
  words: number,
  spans: readonly { readonly span: WordSpan; readonly added: number }[],
): Float64Array {
  const shares = new Float64Array(words);
  for (const { span, added } of spans) {
    shares.fill(added / (span.end - span.first), span.first, span.end);
  }
  return shares;
}

export function weighedWords(words: readonly Word[], weightOf: (at: number) => number): ExplainedWord[] {
  return words.map(({ text: word, start }, at) => ({ word, start, weight: weightOf(at) }));
}

/** ln(p / (1 − p)); probabilities that are 0 or 1 but for rounding count as a millionth from it. */
export function logOdds(probability: number): number {
  const inside = Math.min(1 - SMALLEST, Math.max(SMALLEST, probability));
  return Math.log(inside / (1 - inside));
}
const SMALLEST = 1e-6;

/** Where some words begin and end in their text, in UTF-16 code units. */
export function placeOf(words: readonly Word[], { first, end }: WordSpan): { from: number; to: number } {
  const last = words[end - 1];
  return { from: words[first]?.start ?? 0, to: (last?.start ?? 0) + (last?.text.length ?? 0) };
}

function masked(
  window: TextWindow,
  { from, to }: { readonly from: number; readonly to: number },
  mask: number,
): TextWindow {
  const { ids, offsets, sequenceIds } = window.encoding;
  const isCovered = (token: number) =>
    sequenceIds[token] === 0 && (offsets?.[2 * token] ?? 0) < to && (offsets?.[2 * token + 1] ?? 0) > from;
  const read = ids.map((id, token) => (isCovered(token) ? mask : id));
  return { row: window.row, encoding: { ...window.encoding, ids: read } };
}

function readsAlike(one: Encoding, other: Encoding): boolean {
  return (
    one.ids.length === other.ids.length &&
    one.ids.every((id, at) => id === other.ids[at]) &&
    one.typeIds.every((type, at) => type === other.typeIds[at])
  );
}

/** @throws ValidationError if a label is to be explained by a model that has none */
export function refuseLabel(label: string | undefined): void {
  if (label === undefined) return;
  const msg = 'only a classifier can explain the label of your choice; leave it out';
  throw new ValidationError([{ loc: ['label'], msg, type: 'unsupported' }]);
}

/** UTF-16 code units of a text that is explained: the encoder reads it again many times. */
const MAX_EXPLAINED_CHARACTERS = MAX_QUERY_CHARACTERS / 10;

/** A text that is to be explained: its words, and how the encoder reads it without them. */
export class ExplainedText {
  /** The windows that the encoder has to read in addition to those of the whole text. */
  readonly windows: TextWindow[] = [];
  readonly #explainer: Explainer;
  readonly #text: string;
  readonly #words: readonly Word[];
  readonly #without: { readonly span: WordSpan; readonly windows: readonly TextWindow[] }[] = [];

  constructor(explainer: Explainer | undefined, text: string) {
    if (explainer === undefined) {
      const msg =
        "the model's answers can't be explained: it reads pairs of texts, or is a checkpoint of transformers that labels tokens";
      throw new ValidationError([{ loc: ['model'], msg, type: 'unsupported' }]);
    }
    if (text.length > MAX_EXPLAINED_CHARACTERS) {
      const most = MAX_EXPLAINED_CHARACTERS.toLocaleString('en-US');
      const msg = `at most ${most} UTF-16 code units can be explained; ask about parts of the text instead`;
      throw new ValidationError([{ loc: ['query'], msg, type: 'too_long' }]);
    }
    this.#explainer = explainer;
    this.#text = text;
    this.#words = explainer.wordsOf(text);
  }

  *read(reader: TextReader, whole: readonly TextWindow[], row: number): Generator<undefined, void> {
    const known = new Set(whole);
    const reading = { whole, row, reader, leavesOut: this.#explainer.leavesOut };
    for (const span of spansToLeaveOut(this.#words.length)) {
      const windows = windowsWithout(this.#text, this.#words, span, reading);
      this.#without.push({ span, windows });
      for (const window of windows) if (!known.has(window)) this.windows.push(window);
      yield;
    }
  }

  /** @param outputsOf what the encoder gave for windows. @throws ValidationError */
  explain(
    outputs: TextOutputs,
    outputsOf: (windows: readonly TextWindow[]) => TextOutputs,
    choice: ExplanationChoice,
  ): Generator<undefined, Explanation> {
    const leftOut = this.#without.map(({ span, windows }) => ({ span, outputs: outputsOf(windows) }));
    return this.#explainer.explain(this.#text, this.#words, outputs, leftOut, choice);
  }
}
