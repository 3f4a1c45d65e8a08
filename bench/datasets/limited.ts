import { Random } from '../../src/system/index.js';

/** At most so many rows of each part; all where none is given. */
export interface MostRows {
  readonly train?: number | undefined;
  readonly dev?: number | undefined;
  readonly test?: number | undefined;
}

/** A dataset with fewer rows, drawn at random with a fixed seed. */
export function limited<
  Row,
  TestRow,
  Dataset extends { train: readonly Row[]; dev: readonly Row[]; test: readonly TestRow[] },
>(dataset: Dataset, most: MostRows): Dataset {
  return {
    ...dataset,
    train: drawn(dataset.train, most.train),
    dev: drawn(dataset.dev, most.dev),
    test: drawn(dataset.test, most.test),
  };
}

function drawn<Row>(rows: readonly Row[], most = Number.POSITIVE_INFINITY): readonly Row[] {
  return rows.length <= most
    ? rows
    : Random.fromSeed(1)
        .shuffle([...rows])
        .slice(0, most);
}
