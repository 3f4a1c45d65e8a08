/** Development dependencies, and theirs, that the build puts into dist. */
export const BUNDLED: readonly string[];
