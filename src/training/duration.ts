/** How long a training goes on. */
export interface Duration {
  /** Rows read in all, unless that makes too few or too many epochs. */
  readonly rows: number;
  readonly minEpochs: number;
  readonly maxEpochs: number;
}
