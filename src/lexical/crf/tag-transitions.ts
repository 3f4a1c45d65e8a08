/** Log-scores of one tag after another; −Infinity where it may not follow. */
export interface TagTransitions {
  /** Of each tag at the first word. [tags] */
  readonly start: Float32Array;
  /** Of each tag after each, the earlier one first. [tags, tags] */
  readonly between: Float32Array;
}
