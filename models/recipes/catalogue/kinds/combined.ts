/** Every sentence that a pattern makes with every filler in place of its `{}`, the first letter a capital. */
export const combined = (patterns: readonly string[], fillers: readonly string[]): string[] =>
  patterns.flatMap((pattern) => fillers.map((filler) => capitalized(pattern.replaceAll('{}', filler))));

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
