import { MAX_JSON_ENTRY } from './archive-limits.js';

/** A member of an object as it is written. */
export interface MemberSource {
  readonly key: string;
  readonly value: string;
  /** Where the value begins, 1-based. */
  readonly line: number;
  readonly column: number;
}

/** White space of JSON. */
const space = /[ \t\r\n]*/y;
/** What a scan through an object or array stops at. */
const bracket = /["{}[\]]/g;
/** A number, true, false, null, or whatever else stands there. */
const word = /[^,}\]\s]*/y;

/** Cuts the text of a JSON object into its members, one at a time; what it cuts out may still not be JSON. */
export class JsonMembers {
  readonly #text: string;
  #at: number;
  /** Whether the object may end here: before its first member, and after each. */
  #mayEnd = true;
  /** The line that was counted last: how many are before it, where it starts, and its break. */
  #linesBefore = 0;
  #lineStart = 0;
  #lineBreak: number;

  /** @param text begins with `{`, white space aside. */
  constructor(text: string) {
    this.#text = text;
    this.#at = text.indexOf('{') + 1;
    this.#lineBreak = this.#breakAfter(0);
  }

  /** Where the member that was read last begins, 1-based. */
  line = 1;
  column = 1;

  /** The next member; `broken` where something else stands, `too long` for one beyond {@link MAX_JSON_ENTRY}. */
  next(): MemberSource | 'end' | 'broken' | 'too long' {
    this.#skipSpace();
    if (this.#text[this.#at] === '}') return this.#mayEnd ? this.#end() : 'broken';
    this.#mayEnd = false;
    ({ line: this.line, column: this.column } = this.#place());
    const key = this.#take(this.#text[this.#at] === '"' ? this.#stringEnd(this.#at) : undefined);
    this.#skipSpace();
    if (key === undefined || this.#text[this.#at] !== ':') return 'broken';
    this.#at += 1;
    this.#skipSpace();
    const place = this.#place();
    const end = this.#valueEnd();
    if (end !== undefined && end - this.#at > MAX_JSON_ENTRY) return 'too long';
    const value = this.#take(end);
    return value === undefined ? 'broken' : this.#followed({ key, value, ...place });
  }

  /** A member must be followed by another one or by the end. */
  #followed(member: MemberSource): MemberSource | 'broken' {
    this.#skipSpace();
    const next = this.#text[this.#at];
    if (next === '}') {
      this.#mayEnd = true;
      return member;
    }
    if (next !== ',') return 'broken';
    this.#at += 1;
    return member;
  }

  #end(): 'end' | 'broken' {
    this.#at += 1;
    this.#skipSpace();
    return this.#at === this.#text.length ? 'end' : 'broken';
  }

  #take(end: number | undefined): string | undefined {
    if (end === undefined) return undefined;
    const taken = this.#text.slice(this.#at, end);
    this.#at = end;
    return taken;
  }

  #skipSpace(): void {
    space.lastIndex = this.#at;
    space.test(this.#text);
    this.#at = space.lastIndex;
  }

  /** @returns undefined where it has no end; beyond the limit, some place beyond it. */
  #valueEnd(): number | undefined {
    const first = this.#text[this.#at];
    if (first === '"') return this.#stringEnd(this.#at);
    if (first === '{' || first === '[') return this.#bracketEnd();
    word.lastIndex = this.#at;
    word.test(this.#text);
    return word.lastIndex;
  }

  #bracketEnd(): number | undefined {
    let depth = 0;
    let at = this.#at;
    do {
      bracket.lastIndex = at;
      const found = bracket.exec(this.#text)?.[0];
      if (found === undefined) return undefined;
      at = bracket.lastIndex;
      if (found === '"') {
        const end = this.#stringEnd(at - 1);
        if (end === undefined) return undefined;
        at = end;
      } else depth += found === '{' || found === '[' ? 1 : -1;
    } while (depth > 0 && at - this.#at <= MAX_JSON_ENTRY);
    return at;
  }

  /** Where the string that starts at a quote ends, undefined if nowhere. */
  #stringEnd(start: number): number | undefined {
    for (
      let quote = this.#text.indexOf('"', start + 1);
      quote !== -1;
      quote = this.#text.indexOf('"', quote + 1)
    ) {
      let before = quote;
      while (this.#text[before - 1] === '\\') before -= 1;
      if ((quote - before) % 2 === 0) return quote + 1;
    }
    return undefined;
  }

  #breakAfter(start: number): number {
    const found = this.#text.indexOf('\n', start);
    return found === -1 ? this.#text.length : found;
  }

  #place(): { readonly line: number; readonly column: number } {
    while (this.#lineBreak < this.#at) {
      this.#linesBefore += 1;
      this.#lineStart = this.#lineBreak + 1;
      this.#lineBreak = this.#breakAfter(this.#lineStart);
    }
    return { line: this.#linesBefore + 1, column: this.#at - this.#lineStart + 1 };
  }
}
