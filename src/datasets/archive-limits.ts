import { constants } from 'node:buffer';

/** Largest zip that is fetched: 512 MiB. */
export const DEFAULT_MAX_ARCHIVE_BYTES = 512 * 1024 ** 2;
/** Most bytes that a zip may unpack to: 1 GiB, below the 2 GiB that Node reads in one piece. */
export const DEFAULT_MAX_UNZIPPED_BYTES = 1024 ** 3;
/** Most files and folders that an archive may have. */
export const DEFAULT_MAX_ARCHIVE_ENTRIES = 10_000;

/** Most lines that a file of rows may have; more would not fit into memory with the model. */
export const MAX_LINES = 5_000_000;
/** Longest line of a file of rows: 16 MiB, far longer than any real text. */
export const MAX_LINE_BYTES = 16 * 1024 ** 2;
/** Longest entry of a JSON file, in UTF-16 code units; longer texts are in no real dataset. */
export const MAX_JSON_ENTRY = 16 * 1024 ** 2;
/** Most objects and lists inside one another in JSON; what reads them further may call itself for each level. */
export const MAX_JSON_DEPTH = 200;
/** Largest file that is read as one text (JSON, CSV): what a string of Node can hold, 512 MiB. */
export const MAX_TEXT_BYTES = constants.MAX_STRING_LENGTH;

/** Most labels of a classification, far more than any public benchmark of a single model has. */
export const MAX_LABELS = 5000;
/** Most tags of a sequence labelling: its CRF has a weight for each pair of them. */
export const MAX_TAGS = 500;
/** Most passages of a question answering. */
export const MAX_PASSAGES = 1_000_000;

/** True for what operating systems leave in archives: __MACOSX/, .DS_Store, ._* (AppleDouble), Thumbs.db. */
export function isClutter(path: string): boolean {
  return path.split('/').some((part) => ['__MACOSX', '.DS_Store', 'Thumbs.db'].includes(part) || part.startsWith('._'));
}
