/**
 * How messages name options. Every message has options of the library in backticks, with their exact names: alone, as in
 * `maxTexts`, or with a value, as in `offline: true`. Nothing but code is in backticks. Advice that only some callers can
 * follow is in parentheses, such as "the limit is 2 GiB (`memoryLimit`)".
 */

/**
 * What a caller knows an option as, such as `--max-texts`; undefined if the caller can't set it.
 * @param value as JavaScript, if the message has one
 */
export type OptionNames = (name: string, value: string | undefined) => string | undefined;

/** What is quoted is the user's own, parentheses may be left out, and the rest is code. */
const PLACES = /"(?:[^"\\\n]|\\.)*"| \((?:[^()`"]|`[^`]*`)*\)|`[^`]*`/g;
const CODE = /`([^`]*)`/g;
const OPTION = /^([a-z]\w*(?:\.\w+)*)(?:: (.+))?$/s;

/** The message for a caller who knows options by other names. Parentheses with an option that has no name are left out. */
export function inMessage(message: string, names: OptionNames): string {
  return message.replace(PLACES, (place) => {
    if (place.startsWith('"')) return place;
    let isForOthers = false;
    const named = place.replace(CODE, (same, code: string) => {
      const [isOption, name = '', value] = OPTION.exec(code) ?? [];
      if (isOption === undefined) return same;
      const known = names(name, value);
      isForOthers ||= known === undefined;
      return known ?? same;
    });
    return isForOthers && place.startsWith(' (') ? '' : named;
  });
}
