/**
 * The rooms of src/, top to bottom. A room imports only from rooms on lower lines, through their index.ts.
 * scripts/check-rooms.mjs checks it; docs/house.md says what each room is for.
 */
export const ROOMS = [
  ['cli'],
  ['http', 'web'],
  ['api'],
  ['search', 'postgres'],
  ['inference'],
  ['jobs'],
  ['training'],
  ['report', 'drift'],
  ['families'],
  ['lexical', 'wasm'],
  ['engine'],
  ['encoder'],
  ['graph'],
  ['models', 'text', 'datasets', 'storage'],
  ['system'],
  ['contract'],
];

/** Files of src/ that are built as entries of the package. They import any room; no room imports them. */
export const ENTRIES = ['index', 'testing', 'http', 'graph', 'postgres', 'web', 'orchard'];

/** Folders outside src/ that enter rooms through their index.ts, too. */
export const OUTSIDE = ['bench', 'models/recipes'];
