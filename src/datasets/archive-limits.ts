/** Largest zip that is fetched: 512 MiB. */
export const DEFAULT_MAX_ARCHIVE_BYTES = 512 * 1024 ** 2;
/** Most bytes that a zip may unpack to: 1 GiB; below the 2 GiB that Node reads in one piece. */
export const DEFAULT_MAX_UNZIPPED_BYTES = 1024 ** 3;
/** Most files and folders an archive may hold. */
export const DEFAULT_MAX_ARCHIVE_ENTRIES = 10_000;

/** True for what operating systems leave in archives: __MACOSX/, .DS_Store, ._* (AppleDouble), Thumbs.db. */
export function isClutter(path: string): boolean {
  return path
    .split('/')
    .some((part) => ['__MACOSX', '.DS_Store', 'Thumbs.db'].includes(part) || part.startsWith('._'));
}
