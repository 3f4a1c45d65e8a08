let segmenter: Intl.Segmenter | undefined;

/** The sentences of a text, by Unicode's rules (UAX 29); a text with none is its own. */
export function sentencesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  const sentences = [...segmenter.segment(text)].flatMap(({ segment }) => segment.trim() || []);
  return sentences.length === 0 ? [text] : sentences;
}
