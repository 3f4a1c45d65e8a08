/** Development dependencies, and theirs, that the build puts into dist. */
export const BUNDLED: readonly string[];

/** The packages that an application gets, by their paths in node_modules. @param lock the parsed package-lock.json */
export function productionPackages(lock: { readonly packages: object }): ReadonlyMap<string, { readonly name: string }>;
