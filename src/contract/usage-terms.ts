/** Whether a model may be used commercially, as far as its training data decide. */
export interface UsageTerms {
  /** False if some of the data are for non-commercial use, or have no licence. */
  readonly commercial_use: boolean;
  /** The data that rule it out, with the reason. */
  readonly reasons: readonly string[];
  /** What to use instead. */
  readonly alternative?: string;
}
