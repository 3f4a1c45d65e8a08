import { fields, type Shaped, shortText } from '../../system/index.js';
import { UnknownPartError } from '../tokenizer-json.js';
import type { AlignedText } from './aligned-text.js';

/** The patterns of tokenizer.json, and where they match. */

/** UTF-16 code units; o200k's pattern has 500. */
export const MAX_PATTERN = 4096;

/** `{ "String": "…" }` or `{ "Regex": "…" }`. */
export const patternShape = fields({}, { String: shortText(MAX_PATTERN), Regex: shortText(MAX_PATTERN) }, 'refused');

/** Characters from `from` up to `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * A character or kind of character and how often it is repeated: ` {2,}`, `\s+`. What a longer pattern matches can
 * depend on the engine, and an untrusted one may take forever.
 */
const SIMPLE_PATTERN = /^(?<one>[^\\^$.|?*+()[\]{}]|\\s|\\n|\\r|\\t)(?<times>\+|\{\d{1,3}(?:,\d{0,3})?\})?$/u;

/** White space of Unicode, which isn't that of JavaScript's `\s`. */
const WHITE_SPACE = '\\p{White_Space}';

/** @throws UnknownPartError for one whose matches aren't sure to be those of the Rust package. */
export function compiledPattern({ String: plain, Regex: regex }: Shaped<typeof patternShape>): RegExp {
  if (plain !== undefined && plain !== '') return new RegExp(escaped(plain), 'gu');
  const { one, times = '' } = SIMPLE_PATTERN.exec(regex ?? '')?.groups ?? {};
  if (one === undefined) throw new UnknownPartError(`the pattern ${JSON.stringify(regex ?? plain ?? null)}`);
  return new RegExp(`${one === '\\s' ? WHITE_SPACE : one}${times}`, 'gu');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Where a pattern matches, from left to right; empty matches are left out. */
export function matchesOf(text: AlignedText, pattern: RegExp): Span[] {
  const joined = text.text();
  const spans: Span[] = [];
  const place = places(text, joined);
  for (const match of joined.matchAll(pattern)) {
    if (match[0] === '') continue;
    spans.push({ from: place(match.index), to: place(match.index + match[0].length) });
  }
  return spans;
}

/** Finds the character that begins at a code unit; units must be asked for in ascending order. */
function places({ characters, length }: AlignedText, joined: string): (unit: number) => number {
  if (joined.length === length) return (unit) => unit;
  let index = 0;
  let at = 0;
  return (unit) => {
    while (at < unit) at += characters[index++]?.length ?? 1;
    return index;
  };
}

/** Where single characters fit a description. */
export function charactersThat(text: AlignedText, accepts: (character: string) => boolean): Span[] {
  const spans: Span[] = [];
  const { characters, length } = text;
  for (let from = 0; from < length; from++) {
    if (accepts(characters[from] ?? '')) spans.push({ from, to: from + 1 });
  }
  return spans;
}
