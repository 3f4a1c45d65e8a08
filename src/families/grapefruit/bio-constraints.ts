import type { TagTransitions } from '../../lexical/index.js';
import { parseTag } from './bio-tags.js';

/**
 * Which tag may begin a sentence and which may follow which, as scores to add before decoding: 0 where
 * allowed, −Infinity where not. An I-x may follow B-x and I-x only; every other tag may stand anywhere.
 */
export function bioConstraints(tags: readonly string[]): TagTransitions {
  const parsed = tags.map(parseTag);
  const start = Float32Array.from(parsed, (tag) => (tag?.position === 'I' ? Number.NEGATIVE_INFINITY : 0));
  const between = Float32Array.from(
    parsed.flatMap((previous) =>
      parsed.map((next) =>
        next?.position === 'I' && next.type !== previous?.type ? Number.NEGATIVE_INFINITY : 0,
      ),
    ),
  );
  return { start, between };
}
