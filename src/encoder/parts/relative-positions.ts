/** How DeBERTa's relative positions become rows of its table (He et al. 2021, equation 3; v2 with logarithmic buckets). */

export interface RelativePositions {
  /** Distances below half of it have a row each; above, rows grow logarithmically wider. 0: no buckets. */
  readonly buckets: number;
  /** Distance from which on all share a row. */
  readonly largest: number;
}

/** Half the rows of the table: distance 0 has this row. */
export function spanOf({ buckets, largest }: RelativePositions): number {
  return buckets > 0 ? buckets : largest;
}

/** The row of a distance, as transformers computes it in float32. @param distance query's position − key's. */
export function rowOfDistance(positions: RelativePositions, distance: number): number {
  const span = spanOf(positions);
  const bucket = positions.buckets > 0 ? bucketOf(positions, distance) : distance;
  return Math.min(2 * span - 1, Math.max(0, bucket + span));
}

function bucketOf({ buckets, largest }: RelativePositions, distance: number): number {
  const middle = Math.floor(buckets / 2);
  const size = Math.abs(distance);
  if (size <= middle) return distance;
  const ratio = Math.fround(log32(size / middle) / log32((largest - 1) / middle));
  return Math.sign(distance) * (Math.ceil(Math.fround(ratio * (middle - 1))) + middle);
}

const log32 = (x: number): number => Math.fround(Math.log(Math.fround(x)));
