/** Words and the tag id of each. */
export interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly number[];
}
