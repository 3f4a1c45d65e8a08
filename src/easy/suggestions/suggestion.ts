/** What is suggested, and how. */

/** A text to label next. */
export interface SuggestedText {
  readonly text: string;
  /** Its position among the texts that were given, from 0. */
  readonly index: number;
  /** How unsure the model is of its answer, 0 to 1. */
  readonly uncertainty: number;
}

/** How many texts are suggested. */
export interface SuggestOptions {
  /** 1 to 10,000. Default 20. */
  readonly count?: number | undefined;
  /** Decides the draws. Default 0. */
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}
