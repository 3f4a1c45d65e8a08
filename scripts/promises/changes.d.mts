export const BUILT: 'built';

type Change = readonly [file: string, from: string, to: string, built?: typeof BUILT];

/** By the beginning of a promise. */
export const CHANGES: Readonly<Record<string, Change>>;
export const NO_LINE: Readonly<Record<string, string>>;
