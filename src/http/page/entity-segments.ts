import type { InferenceResult } from '../../contract/index.js';

/** A piece of a text; an entity if it has a label. */
interface Segment {
  readonly text: string;
  readonly label?: string;
  readonly score?: number;
}

/** Cuts a text at its entities. All pieces together are the text. Of overlapping entities the first is kept. */
export function entitySegments(text: string, result: InferenceResult): Segment[] {
  const { labels, scores, tokens = [], token_start_positions = [] } = result;
  const entities = tokens
    .map((token, at) => {
      const start = token_start_positions[at] ?? 0;
      return { start, end: start + token.length, label: labels[at] ?? '', score: scores[at] ?? 0 };
    })
    .sort((a, b) => a.start - b.start);
  const segments: Segment[] = [];
  let end = 0;
  for (const { start, label, score, ...entity } of entities) {
    if (start < end) continue;
    if (start > end) segments.push({ text: text.slice(end, start) });
    segments.push({ text: text.slice(start, entity.end), label, score });
    end = entity.end;
  }
  if (end < text.length) segments.push({ text: text.slice(end) });
  return segments;
}
