/**
 * The rooms of src/, top to bottom. A room imports only from rooms on lower lines, through their index.ts.
 * scripts/check-rooms.mjs checks it; docs/house.md says what each room is for.
 */
export const ROOMS = [
  ['cli'],
  ['http'],
  ['easy'],
  ['trainer', 'predictor', 'medley'],
  ['inference', 'training'],
  ['report'],
  ['families'],
  ['engine', 'lexical', 'vector-index', 'postgres'],
  ['encoder', 'text-reader', 'model-folder', 'jobs', 'model-loader'],
  ['graph', 'kernels', 'tokenizer', 'datasets', 'storage', 'contract'],
  ['files', 'network', 'safetensors'],
];

/** Files of src/ that are built as entries of the package. They import any room; no room imports them. */
export const ENTRIES = ['index', 'testing', 'http', 'graph', 'postgres', 'orchard'];

/** Folders outside src/ that enter rooms through their index.ts, too. */
export const OUTSIDE = ['bench', 'models/recipes'];
