/** What happens to the matches of a pattern at which a text is split. */
import type { AlignedText } from './aligned-text.js';
import type { Span } from './patterns.js';

/** As tokenizer.json names them. */
export type SplitBehavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous';

interface Part extends Span {
  readonly matches: boolean;
}

/**
 * Splits a text at the given places, which are in order and don't overlap.
 * @param invert whether what lies between the places is split at instead.
 */
export function splitAt(
  text: AlignedText,
  places: readonly Span[],
  behavior: SplitBehavior,
  invert = false,
): AlignedText[] {
  const parts = behaved(allParts(text.length, places, invert), behavior);
  if (parts.length === 1 && parts[0]?.from === 0 && parts[0].to === text.length) return [text];
  return parts.map(({ from, to }) => text.slice(from, to));
}

/** The places and what lies between them. */
function allParts(length: number, places: readonly Span[], invert: boolean): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const { from, to } of places) {
    if (done < from) parts.push({ from: done, to: from, matches: invert });
    parts.push({ from, to, matches: !invert });
    done = to;
  }
  if (done < length) parts.push({ from: done, to: length, matches: invert });
  return parts;
}

function behaved(parts: readonly Part[], behavior: SplitBehavior): readonly Span[] {
  switch (behavior) {
    case 'Isolated':
      return parts;
    case 'Removed':
      return parts.filter(({ matches }) => !matches);
    case 'Contiguous':
      return joined(parts, (part, last) => part.matches === last.matches);
    case 'MergedWithPrevious':
      return joined(parts, (part, last) => part.matches && !last.matches);
    case 'MergedWithNext':
      // From the last part to the first, as a match belongs to what comes after it.
      return joined(parts.toReversed(), (part, last) => part.matches && !last.matches).toReversed();
  }
}

/** Joins each part with the group of the one before it, where `joins` says so. */
function joined(parts: readonly Part[], joins: (part: Part, last: Part) => boolean): Span[] {
  const groups: Span[] = [];
  let last: Part | undefined;
  for (const part of parts) {
    const group = groups.at(-1);
    if (group !== undefined && last !== undefined && joins(part, last)) {
      groups[groups.length - 1] = { from: Math.min(group.from, part.from), to: Math.max(group.to, part.to) };
    } else {
      groups.push({ from: part.from, to: part.to });
    }
    last = part;
  }
  return groups;
}
