export const ROOMS: readonly (readonly string[])[];
export const ENTRIES: readonly string[];
export const OUTSIDE: readonly string[];
