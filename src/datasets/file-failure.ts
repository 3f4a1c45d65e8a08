/** By the file system's codes, in words that follow a name. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'another entry has that place'],
  ['EISDIR', 'a folder has that place'],
  ['ENOTDIR', 'a file has the place of one of its folders'],
  ['ENAMETOOLONG', 'its name is too long'],
  ['EINVAL', 'no file can have its name'],
  ['EACCES', 'reading is not permitted'],
  ['ENOENT', 'it is no longer there'],
]);

/**
 * Why the file system refused a file of a dataset. Never its own message, which has the path on this machine: the
 * sender of the dataset may read the result.
 */
export function fileFailure(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'an unknown error';
  const reason = reasons.get(code);
  return reason === undefined ? code : `${code}: ${reason}`;
}
