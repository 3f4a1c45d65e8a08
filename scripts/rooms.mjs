/**
 * The rooms of src/, top to bottom. A room may import those of the lines below its own, through their index.js, and
 * none of its own line. docs/house.md says what each is for; rooms that are planned have their places already.
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
  ['errors'],
];

/** Files of src/ that are built by themselves: above all rooms. The other files beside the rooms are below them all. */
export const ENTRIES = ['index', 'testing', 'http', 'graph', 'postgres', 'orchard'];

/** Other folders that import from src/, each with how loudly the linter says that one enters a room by a window. */
export const OUTSIDE = { bench: 'error', 'models/recipes': 'error' };
