/** English words that say how something is asked, and not what about. */
const FUNCTION_WORDS = new Set(
  `a about all also am an and any are as at be been being but by can could did do does doing for from get gets give had has
  have having he her here him his how i if in into is it its just let like many may me might more most much must my no nor
  not of on or our over please shall she should so some such tell than that the their them then there these they this those
  to too under up us very was we were what when where which while who whom whose why will with would you your`.split(
    /\s+/,
  ),
);

/**
 * A question without the words that only ask; all of it where nothing else is in it. What a passage lacks of these says
 * nothing of whether it answers, and few passages have many of them.
 */
export function contentWords(question: string): string {
  const words = question.match(/[\p{L}\p{N}\p{M}'’-]+/gu) ?? [];
  const content = words.filter((word) => !FUNCTION_WORDS.has(word.toLowerCase()));
  return content.length === 0 ? question : content.join(' ');
}
