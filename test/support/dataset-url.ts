import type { TrainingSpec } from '../../src/training/index.js';

/** The URL that a run is to fetch its dataset from. */
export function datasetUrl({ dataset }: Pick<TrainingSpec, 'dataset'>): string {
  if ('url' in dataset) return dataset.url;
  throw new Error('the dataset has no URL');
}
