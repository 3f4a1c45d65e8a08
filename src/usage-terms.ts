/** Whether a model may be used for money, as far as the data that it learned from decide it. */
export interface UsageTerms {
  /** False: some data were given for other use, or without a word about it. */
  readonly commercial_use: boolean;
  /** The data that stand in the way, with why. */
  readonly reasons: readonly string[];
  /** What to use instead. */
  readonly alternative?: string;
}
