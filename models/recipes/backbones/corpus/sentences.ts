/** Unicode's rules work for Japanese, too: 。 is one of their full stops. */
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The sentences of a text (Unicode's rules, UAX 29), trimmed; a line end also ends a sentence. */
export function sentencesOf(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) =>
      Array.from(segmenter.segment(line), ({ segment }) => segment.trim()).filter((sentence) => sentence !== ''),
    );
}
