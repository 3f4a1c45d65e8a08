import { MAX_QUERY_CHARACTERS } from '../contract/index.js';
import { ValidationError } from '../errors.js';
import type { TextOutputs, TextReader, TextWindow } from '../text-reader/index.js';
import {
  type Explainer,
  type Explanation,
  type ExplanationChoice,
  spansToLeaveOut,
  type WordSpan,
  windowsWithout,
} from './explanation.js';
import type { Word } from './words.js';

/** UTF-16 code units of a text that is explained: the encoder reads it again many times. */
export const MAX_EXPLAINED_CHARACTERS = MAX_QUERY_CHARACTERS / 10;

/** A text that is to be explained: its words, and how the encoder reads it without them. */
export class ExplainedText {
  /** The windows that the encoder has to read beside those of the whole text. */
  readonly windows: TextWindow[] = [];
  readonly #explainer: Explainer;
  readonly #text: string;
  readonly #words: readonly Word[];
  readonly #without: { readonly span: WordSpan; readonly windows: readonly TextWindow[] }[] = [];

  /** @throws ValidationError for a text that is too long, or a model whose family explains nothing. */
  constructor(explainer: Explainer | undefined, text: string) {
    if (explainer === undefined) {
      const msg = "models of this family can't be explained: their decoder has no explainer";
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

  /** Reads the text without its words, step by step. @param whole its windows. */
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
