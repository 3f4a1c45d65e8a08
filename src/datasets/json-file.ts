import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser';
import { type ProblemList, quoted } from './problems.js';
import { readText } from './text-file.js';

/** A parsed JSON file, whose value isn't checked yet. */
export interface JsonFile {
  readonly value: unknown;
  /** The 1-based line of each key of the outermost object. */
  readonly lines: ReadonlyMap<string, number>;
}

/**
 * Reads a JSON file of a dataset strictly: no comments, no trailing commas, no key twice in one object.
 * @param name the file's path inside the archive, for problems.
 * @returns undefined if anything is wrong, after adding at least one problem (line and column, 1-based).
 */
export function readJsonFile(path: string, name: string, problems: ProblemList): JsonFile | undefined {
  const text = readText(path, name, problems);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    problems.add({ file: name, ...syntaxError(text), expected: 'JSON' });
    return undefined;
  }
  const before = problems.total;
  const lines = locateKeys(text, name, problems);
  return problems.total === before ? { value, lines } : undefined;
}

interface SyntaxProblem {
  readonly line: number;
  readonly column: number;
  readonly found: string;
}

/** Where the text stops being JSON. `JSON.parse` doesn't always say where, hence a second parser. */
function syntaxError(text: string): SyntaxProblem {
  let first: SyntaxProblem | undefined;
  visitJson(text, {
    onError: (code, offset, length, line, character) => {
      const at = quoted(text.slice(offset, offset + Math.max(length, 1)));
      const place = offset >= text.length ? 'the end of the file' : at;
      first ??= { line: line + 1, column: character + 1, found: `${syntaxReason(code)} at ${place}` };
    },
  });
  return first ?? { line: 1, column: 1, found: "found text that isn't JSON" };
}

/** `CommaExpected` → `comma expected`. */
function syntaxReason(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

/**
 * The lines of the outermost keys. A key that occurs twice in an object is a problem: `JSON.parse` would
 * silently drop the earlier value.
 */
function locateKeys(text: string, file: string, problems: ProblemList): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const openObjects: Set<string>[] = [];
  const tooDeep = visitJson(text, {
    onObjectBegin: () => {
      openObjects.push(new Set());
    },
    onObjectEnd: () => {
      openObjects.pop();
    },
    onObjectProperty: (key, _offset, _length, line, character) => {
      const keys = openObjects.at(-1);
      if (keys?.has(key)) {
        const found = `found the key ${quoted(key)} a second time`;
        problems.add({ file, line: line + 1, column: character + 1, found, expected: 'every key once' });
      }
      keys?.add(key);
      if (openObjects.length === 1) lines.set(key, line + 1);
    },
  });
  if (tooDeep) problems.add({ file, found: 'found deeply nested JSON', expected: 'fewer nested levels' });
  return lines;
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
