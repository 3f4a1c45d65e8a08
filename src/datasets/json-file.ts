import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { isPauseDue, pause } from '../pauses.js';
import { MAX_JSON_ENTRY } from './archive-limits.js';
import { JsonMembers, type MemberSource } from './json-members.js';
import { describeBytes, type ProblemList, quoted } from './problems.js';
import { readText } from './text-lines.js';

/** A member of the outermost object; its value isn't checked yet. */
export interface JsonMember {
  readonly key: string;
  readonly value: unknown;
  /** 1-based. */
  readonly line: number;
}

/** A parsed JSON file: an object as its members, in their order, or a value of another kind. */
export type JsonFile =
  | { readonly members: readonly JsonMember[] }
  | { readonly members?: undefined; readonly value: unknown };

/**
 * Reads a JSON file of a dataset strictly: no comments, no trailing commas, no key twice in one object. An object is
 * read member by member, so that the thread is never blocked for long.
 * @param name the file's path inside the archive, for problems.
 * @returns undefined if anything is wrong, after adding at least one problem (line and column, 1-based).
 * @throws AbortedError soon after the signal fires.
 */
export async function readJsonFile(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<JsonFile | undefined> {
  const text = await readText(path, name, problems, signal);
  if (text === undefined) return undefined;
  const before = problems.total;
  const file = text.trimStart().startsWith('{')
    ? await readObject(text, name, problems, signal)
    : readValue(text, name, problems);
  return problems.total === before ? file : undefined;
}

/** The value of a file as `JSON.parse` gives it. */
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
      const found = 'found a longer entry here';
      problems.add({
        file,
        line,
        column,
        found,
        expected: `at most ${describeBytes(MAX_JSON_ENTRY)} per entry`,
      });
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

/** @returns undefined if a part of it isn't JSON. */
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
 * Where the text stops being JSON. `JSON.parse` doesn't always say where, hence a second parser; a very long text isn't
 * read again for it.
 * @param near where the part that can't be read begins.
 */
function syntaxError(text: string, near: Place): Place & { readonly found: string } {
  const unread = { ...near, found: "found text that isn't JSON" };
  if (text.length > MAX_JSON_ENTRY) return unread;
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

/** `CommaExpected` → `comma expected`. */
function syntaxReason(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

const twice = (key: string) => ({
  found: `found the key ${quoted(key)} a second time`,
  expected: 'every key once',
});

/** A key that occurs twice in an object is a problem: `JSON.parse` would silently drop the earlier value. */
function findRepeatedKeys(
  { value, line: firstLine, column: firstColumn }: MemberSource,
  file: string,
  problems: ProblemList,
): void {
  if (!/^[[{]/.test(value)) return;
  const openObjects: Set<string>[] = [];
  const tooDeep = visitJson(value, {
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
  if (tooDeep) problems.add({ file, found: 'found deeply nested JSON', expected: 'fewer nested levels' });
}

/** @returns true if the nesting is deeper than the parser's stack. */
function visitJson(text: string, visitor: Parameters<typeof visit>[1]): boolean {
  try {
    visit(text, visitor, { disallowComments: true });
    return false;
  } catch (thrown) {
    if (thrown instanceof RangeError) return true;
    throw thrown;
  }
}
