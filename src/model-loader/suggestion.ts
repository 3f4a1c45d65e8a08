/** Share of a name's characters that may be mistyped for the right name to be suggested. */
const MISTYPED_SHARE = 1 / 3;

/** `did you mean "…"? ` with the most similar of these names; empty if none is similar. */
export async function suggestion(name: string, names: readonly string[]): Promise<string> {
  const { closestMatch } = await import('leven');
  const closest = closestMatch(name, names, { maxDistance: Math.ceil(name.length * MISTYPED_SHARE) });
  return closest === undefined ? '' : `did you mean ${JSON.stringify(closest)}? `;
}
