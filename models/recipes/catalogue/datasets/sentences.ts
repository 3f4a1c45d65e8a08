const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Shortest and longest sentence, in UTF-16 code units: shorter ones say little, longer ones are mostly unsplit. */
const SHORTEST = 20;
const LONGEST = 250;

/** Behind a mark with a space before it, as texts have that were cut into words, and mostly put into lower case. */
const AFTER_LONE_MARK = /(?<= [.!?]) /u;

/** The sentences of English texts, in their order, spaces around them taken off. */
export function sentencesOf(texts: Iterable<string>): string[] {
  const sentences: string[] = [];
  for (const text of texts) {
    const segments = text.split(AFTER_LONE_MARK).flatMap((part) => [...segmenter.segment(part)]);
    for (const { segment } of segments) {
      const sentence = segment.trim();
      if (sentence.length >= SHORTEST && sentence.length <= LONGEST) sentences.push(sentence);
    }
  }
  return sentences;
}
