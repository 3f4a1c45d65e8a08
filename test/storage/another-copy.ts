const MARKER: unique symbol = Symbol.for('orchard-nlp.version-conflict');

/** A conflict as another copy of the package throws it: of a class of its own, with the same marker. */
class OtherVersionConflict extends Error {
  override readonly name = 'VersionConflict';
  readonly [MARKER] = true;

  constructor(
    readonly collection: string,
    readonly key: string,
  ) {
    super(`${collection}/${key} was written by someone else since it was read`);
  }
}

export function aVersionConflictOfAnotherCopy(collection: string, key: string): Error {
  return new OtherVersionConflict(collection, key);
}
