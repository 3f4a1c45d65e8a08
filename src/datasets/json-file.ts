import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { isPauseDue, pause } from '../system/index.js';
import { MAX_JSON_DEPTH, MAX_JSON_ENTRY } from './archive-limits.js';
import { grouped, type ProblemList, quoted } from './problems.js';
import { readText } from './text-lines.js';

interface MemberSource {
  readonly key: string;
  readonly value: string;
  /** Where the value begins, 1-based. */
  readonly line: number;
  readonly column: number;
}

const space = /[ \t\r\n]*/y;
const bracket = /["{}[\]]/g;
/** A number, true, false, null, or whatever else stands there. */
const word = /[^,}\]\s]*/y;

/** Cuts the text of a JSON object into its members, one at a time; what it cuts out may still not be JSON. */
class JsonMembers {
  readonly #text: string;
  #at: number;
  /** Whether the object may end here: before its first member, and after each. */
  #mayEnd = true;
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
    for (let quote = this.#text.indexOf('"', start + 1); quote !== -1; quote = this.#text.indexOf('"', quote + 1)) {
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

/** A member of the outermost object; its value isn't checked yet. */
export interface JsonMember {
  readonly key: string;
  readonly value: unknown;
  readonly line: number;
}

/** A parsed JSON file: an object as its members, in their order, or a value of another kind. */
type JsonFile = { readonly members: readonly JsonMember[] } | { readonly members?: undefined; readonly value: unknown };

/**
 * Reads JSON strictly: no comments, no trailing commas, no key twice in one object. An object is read member by member,
 * so that the thread is never blocked for long.
 * @returns undefined if anything is wrong, after adding at least one problem
 * @throws AbortedError soon after the signal fires
 */
export async function readJsonFile(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<JsonFile | undefined> {
  const text = await readText(path, name, problems, signal);
  if (text === undefined) return undefined;
  if (nestsTooDeep(text)) {
    problems.add({ file: name, ...TOO_DEEP });
    return undefined;
  }
  const before = problems.total;
  const file = text.trimStart().startsWith('{')
    ? await readObject(text, name, problems, signal)
    : readValue(text, name, problems);
  return problems.total === before ? file : undefined;
}

export function jsonValue(file: JsonFile): unknown {
  if (file.members === undefined) return file.value;
  return Object.fromEntries(file.members.map(({ key, value }) => [key, value]));
}

async function readObject(
  text: string,
  file: string,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<JsonFile | undefined> {
  const members: JsonMember[] = [];
  const keys = new Set<string>();
  const source = new JsonMembers(text);
  for (let next = source.next(); next !== 'end'; next = source.next()) {
    if (isPauseDue()) await pause(signal);
    const { line, column } = source;
    if (next === 'too long') {
      const found = `found an entry of more than ${grouped(MAX_JSON_ENTRY)} UTF-16 code units`;
      problems.add({ file, line, column, found, expected: 'shorter entries' });
      return undefined;
    }
    const member = next === 'broken' ? undefined : parsedMember(next);
    if (member === undefined) {
      problems.add({ file, ...syntaxError(text, { line, column }), expected: 'JSON' });
      return undefined;
    }
    const { key } = member;
    if (keys.has(key)) problems.add({ file, line, column, ...twice(key) });
    keys.add(key);
    if (next !== 'broken') findRepeatedKeys(next, file, problems);
    members.push({ ...member, line });
  }
  return { members };
}

function parsedMember(source: MemberSource | 'broken'): { key: string; value: unknown } | undefined {
  if (source === 'broken') return undefined;
  try {
    return { key: String(JSON.parse(source.key)), value: JSON.parse(source.value) };
  } catch {
    return undefined;
  }
}

function readValue(text: string, file: string, problems: ProblemList): JsonFile | undefined {
  if (text.length > MAX_JSON_ENTRY) {
    problems.add({ file, line: 1, found: 'found no object', expected: 'a JSON object' });
    return undefined;
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    problems.add({ file, ...syntaxError(text, { line: 1, column: 1 }), expected: 'JSON' });
    return undefined;
  }
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * Where the text stops being JSON. `JSON.parse` doesn't always say where, hence a second parser.
 * @param near where the part that can't be read begins
 */
export function syntaxError(text: string, near: Place): Place & { readonly found: string } {
  const unread = { ...near, found: "found text that isn't JSON" };
  if (text.length > MAX_JSON_ENTRY) return unread;
  if (nestsTooDeep(text)) return { ...near, found: TOO_DEEP.found };
  let first: (Place & { readonly found: string }) | undefined;
  visitJson(text, {
    onError: (code, offset, length, line, character) => {
      const at = quoted(text.slice(offset, offset + Math.max(length, 1)));
      const place = offset >= text.length ? 'the end of the file' : at;
      first ??= { line: line + 1, column: character + 1, found: `${syntaxReason(code)} at ${place}` };
    },
  });
  return first ?? unread;
}

function syntaxReason(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

const twice = (key: string) => ({
  found: `found the key ${quoted(key)} a second time`,
  expected: 'each key once',
});

/** A key that occurs twice in an object is a problem: `JSON.parse` would silently drop the earlier value. */
function findRepeatedKeys(
  { value, line: firstLine, column: firstColumn }: MemberSource,
  file: string,
  problems: ProblemList,
): void {
  if (!/^[[{]/.test(value)) return;
  const openObjects: Set<string>[] = [];
  visitJson(value, {
    onObjectBegin: () => {
      openObjects.push(new Set());
    },
    onObjectEnd: () => {
      openObjects.pop();
    },
    onObjectProperty: (key, _offset, _length, below, character) => {
      const keys = openObjects.at(-1);
      const column = character + (below === 0 ? firstColumn : 1);
      if (keys?.has(key)) problems.add({ file, line: firstLine + below, column, ...twice(key) });
      keys?.add(key);
    },
  });
}

/** @param text is not {@link nestsTooDeep}, which would exceed the parser's stack. */
export function visitJson(text: string, visitor: Parameters<typeof visit>[1]): void {
  visit(text, visitor, { disallowComments: true });
}

export const TOO_DEEP = {
  found: 'found deeply nested JSON',
  expected: `at most ${MAX_JSON_DEPTH} nested objects and lists`,
};

/** Whether objects and lists stand within one another beyond {@link MAX_JSON_DEPTH}. */
export function nestsTooDeep(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isString && character === '\\') at += 1;
    else if (character === '"') isString = !isString;
    else if (isString) continue;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth > MAX_JSON_DEPTH) return true;
  }
  return false;
}

export async function checkIndices(
  members: readonly JsonMember[],
  file: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<void> {
  const ids = new Set<number>();
  for (const { key } of members) {
    if (isPauseDue()) await pause(signal);
    if (/^(0|[1-9]\d*)$/.test(key)) ids.add(Number(key));
    else problems.add({ file, found: `found the id ${quoted(key)}`, expected: 'a whole number' });
  }
  for (let id = 0; id < ids.size; id += 1) {
    if (isPauseDue()) await pause(signal);
    if (ids.has(id)) continue;
    problems.add({ file, found: `the id ${id} is missing`, expected: 'ids from 0 without gaps' });
    return;
  }
}

/** The members by their indices; mostly they are in that order already, and sorting many takes a while. */
export function byIndex(members: readonly JsonMember[]): readonly JsonMember[] {
  const isSorted = members.every(({ key }, at) => Number(key) >= Number(members[at - 1]?.key ?? 0));
  return isSorted ? members : [...members].sort((a, b) => Number(a.key) - Number(b.key));
}
