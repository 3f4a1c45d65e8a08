import { fields, type Shaped, shortText } from '../../system/index.js';
import { UnknownPartError } from '../tokenizer-json.js';

/** Replaces a lone surrogate, as the conversion to UTF-8 does. */
const REPLACEMENT = '\ufffd';

/** Code points with their places in the source, as the Rust `tokenizers` package keeps them. */
export class AlignedText {
  constructor(
    readonly characters: readonly string[],
    readonly starts: readonly number[],
    readonly ends: readonly number[],
    /** Where the part of the source begins. */
    readonly origin: number,
  ) {}

  static of(source: string): AlignedText {
    const characters: string[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    for (const character of source) {
      starts.push(characters.length);
      characters.push(isLoneSurrogate(character) ? REPLACEMENT : character);
      ends.push(characters.length);
    }
    return new AlignedText(characters, starts, ends, 0);
  }

  get length(): number {
    return this.characters.length;
  }

  text(): string {
    return this.characters.join('');
  }

  slice(from: number, to: number): AlignedText {
    const { characters, starts, ends } = this;
    const origin = starts[from] ?? this.origin;
    return new AlignedText(characters.slice(from, to), starts.slice(from, to), ends.slice(from, to), origin);
  }
}

function isLoneSurrogate(character: string): boolean {
  return character.length === 1 && (character.charCodeAt(0) & 0xf800) === 0xd800;
}

export class Rewriting {
  readonly #source: AlignedText;
  readonly #characters: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #done = 0;
  #lastWasPutIn = false;

  constructor(source: AlignedText) {
    this.#source = source;
  }

  /** `character` takes the place of the next `count` characters. */
  replace(character: string, count = 1): void {
    this.#push(character, this.#done);
    this.#done += count;
    this.#lastWasPutIn = false;
  }

  insert(character: string): void {
    this.#push(character, this.#done - 1);
    this.#lastWasPutIn = true;
  }

  skip(count: number): void {
    this.#done += count;
  }

  /** Leaves them out; a character that was just put in takes their place. */
  mergeIntoLast(count: number): void {
    if (this.#lastWasPutIn) {
      const last = this.#characters.length - 1;
      this.#starts[last] = this.#source.starts[this.#done] ?? this.#source.origin;
      this.#ends[last] = this.#source.ends[this.#done] ?? this.#source.origin;
      this.#lastWasPutIn = false;
    }
    this.#done += count;
  }

  keep(count: number): void {
    const { characters } = this.#source;
    const end = Math.min(characters.length, this.#done + count);
    while (this.#done < end) this.replace(characters[this.#done] ?? '');
  }

  result(): AlignedText {
    return new AlignedText(this.#characters, this.#starts, this.#ends, this.#source.origin);
  }

  #push(character: string, place: number): void {
    this.#characters.push(character);
    this.#starts.push(this.#source.starts[place] ?? this.#source.origin);
    this.#ends.push(this.#source.ends[place] ?? this.#source.origin);
  }
}

export function filtered(text: AlignedText, keep: (character: string) => boolean): AlignedText {
  if (text.characters.every(keep)) return text;
  const rewriting = new Rewriting(text);
  for (const character of text.characters) {
    if (keep(character)) rewriting.replace(character);
    else rewriting.skip(1);
  }
  return rewriting.result();
}

export function mapped(text: AlignedText, map: (character: string) => string): AlignedText {
  const rewriting = new Rewriting(text);
  for (const character of text.characters) {
    let first = true;
    for (const form of map(character)) {
      if (first) rewriting.replace(form);
      else rewriting.insert(form);
      first = false;
    }
  }
  return rewriting.result();
}

/** The prefix has the place of the first character; an empty text stays empty. */
export function prepended(text: AlignedText, prefix: string): AlignedText {
  const [first] = text.characters;
  if (first === undefined) return text;
  const rewriting = new Rewriting(text);
  let isFirst = true;
  for (const character of [...prefix, first]) {
    if (isFirst) rewriting.replace(character);
    else rewriting.insert(character);
    isFirst = false;
  }
  rewriting.keep(text.length - 1);
  return rewriting.result();
}

/** UTF-16 code units; o200k's pattern has 500. */
export const MAX_PATTERN = 4096;

/** `{ "String": "…" }` or `{ "Regex": "…" }`. */
export const patternShape = fields({}, { String: shortText(MAX_PATTERN), Regex: shortText(MAX_PATTERN) }, 'refused');

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** ` {2,}`, `\s+`: what longer patterns match depends on the engine, and an untrusted one may take forever. */
const SIMPLE_PATTERN = /^(?<one>[^\\^$.|?*+()[\]{}]|\\s|\\n|\\r|\\t)(?<times>\+|\{\d{1,3}(?:,\d{0,3})?\})?$/u;

/** Unicode's, which isn't JavaScript's `\s`. */
const WHITE_SPACE = '\\p{White_Space}';

/** @throws UnknownPartError for one whose matches may differ from the Rust package's. */
export function compiledPattern({ String: plain, Regex: regex }: Shaped<typeof patternShape>): RegExp {
  if (plain !== undefined && plain !== '') return new RegExp(escaped(plain), 'gu');
  const { one, times = '' } = SIMPLE_PATTERN.exec(regex ?? '')?.groups ?? {};
  if (one === undefined) throw new UnknownPartError(`the pattern ${JSON.stringify(regex ?? plain ?? null)}`);
  return new RegExp(`${one === '\\s' ? WHITE_SPACE : one}${times}`, 'gu');
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** The longest at the leftmost place; undefined without texts. */
export function anyOf(texts: Iterable<string>, flags: 'g' | 'gu'): RegExp | undefined {
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return longestFirst.length === 0 ? undefined : new RegExp(longestFirst.map(escaped).join('|'), flags);
}

/** Left to right, without empty matches. */
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

/** Units must be asked for in ascending order. */
function places({ characters, length }: AlignedText, joined: string): (unit: number) => number {
  if (joined.length === length) return (unit) => unit;
  let index = 0;
  let at = 0;
  return (unit) => {
    while (at < unit) at += characters[index++]?.length ?? 1;
    return index;
  };
}

export function charactersThat(text: AlignedText, accepts: (character: string) => boolean): Span[] {
  const spans: Span[] = [];
  const { characters, length } = text;
  for (let from = 0; from < length; from++) {
    if (accepts(characters[from] ?? '')) spans.push({ from, to: from + 1 });
  }
  return spans;
}
