/**
 * What of a teacher is stored for a text, by a name that is part of a file's: `last`, its last hidden states;
 * `layer-4`, those after its fourth layer; `queries-11`, `keys-11` and `values-11`, what its eleventh layer's attention
 * compares and passes on; `words`, what its masked-language head compares with each word.
 */
export type Track = string;

export type TrackKind = 'last' | 'layer' | 'queries' | 'keys' | 'values' | 'words';

export interface ParsedTrack {
  readonly kind: TrackKind;
  /** Counted from 1; 0 for `last` and `words`. */
  readonly layer: number;
}

const KINDS: readonly TrackKind[] = ['last', 'layer', 'queries', 'keys', 'values', 'words'];
const WITHOUT_LAYER: readonly TrackKind[] = ['last', 'words'];

/** @throws Error if it is no track. */
export function parseTrack(track: Track): ParsedTrack {
  const [stem = '', number] = track.split('-');
  const kind = KINDS.find((each) => each === stem);
  const layer = number === undefined ? 0 : Number(number);
  if (kind === undefined || !Number.isInteger(layer) || WITHOUT_LAYER.includes(kind) !== (layer === 0)) {
    throw new Error(`no track "${track}": there are last, words, layer-4, queries-11, keys-11, values-11`);
  }
  return { kind, layer };
}

/** Only directions of hidden states are learned, so what all have in common is taken out of them first. */
export const isCentred = (track: Track): boolean => ['last', 'layer', 'words'].includes(parseTrack(track).kind);

/** The three tracks of a layer's relations. */
export const relationTracks = (layer: number): readonly [Track, Track, Track] => [
  `queries-${layer}`,
  `keys-${layer}`,
  `values-${layer}`,
];
