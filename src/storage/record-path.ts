import { join } from 'node:path';
import { escapeName, hashedName, unescapeName } from './file-name.js';

/** The extension of a record's file. No directory's name has it, since a `.` in a key is escaped. */
export const EXTENSION = '.json';

/**
 * A key is split after every "/", and between two of them after 3, 5, 7 and 10 UTF-16 code units, then after
 * every 30. So UUIDs that begin with their time lie in nested directories for 2 years, 3 days, 17 minutes and
 * 4 seconds, of which one has at most 256 of the next smaller ones.
 */
const CUTS = [3, 5, 7, 10];
const LATER_WIDTH = 30;
/**
 * The longest path within a collection. macOS allows 1,024 bytes for a whole path; every ASCII key stays
 * below this.
 */
const MAX_PATH_LENGTH = 800;
const HASHED = /^~[0-9a-f]{64}$/;

/**
 * A name in a directory of records: a record's file, or the directory of all longer keys that begin with it.
 */
export interface RecordName {
  readonly isFile: boolean;
  /** The piece of the key that it stands for; undefined for a file whose key is only in its contents. */
  readonly piece: string | undefined;
}

/**
 * The path of a record's file within its collection: `local/0190a6f0-…` is `loc/al/%2f/019/0a/6f/0-0/….json`.
 * Whether a key is split at a point depends only on what comes before. So the names in a directory, ordered
 * by their pieces, are in the order of the keys beneath them. If a path gets too long, the rest of it is a
 * hash.
 */
export function pathOfKey(key: string): string {
  const { names, rest } = cutKey(key);
  return join(...names, rest) + EXTENSION;
}

/**
 * The deepest directory with all keys that begin with `prefix`, except that key itself; and what all keys
 * there begin with.
 */
export function directoryOfPrefix(prefix: string): { readonly path: string; readonly beginning: string } {
  const { names, before } = cutKey(prefix);
  const last = prefix.slice(before.length);
  const name = escapeName(last);
  if (last === '' || !isWhole(last, before) || !fits([...names, name])) {
    return { path: join(...names), beginning: before };
  }
  return { path: join(...names, name), beginning: prefix };
}

/**
 * Parses a name in the directory of the keys that begin with `before`; undefined if it isn't the name of any
 * key.
 */
export function parseRecordName(name: string, before: string): RecordName | undefined {
  const isFile = name.endsWith(EXTENSION);
  const stem = isFile ? name.slice(0, -EXTENSION.length) : name;
  if (isFile && HASHED.test(stem)) return { isFile, piece: undefined };
  const piece = unescapeName(stem);
  if (!piece || pieceLength(before + piece, before.length) !== piece.length) return undefined;
  return isFile || isWhole(piece, before) ? { isFile, piece } : undefined;
}

/** The directories to a key's file, the part of the key that they stand for, and the name of the rest. */
function cutKey(key: string): { names: string[]; before: string; rest: string } {
  const names: string[] = [];
  for (let at = 0; ; ) {
    const piece = key.slice(at, at + pieceLength(key, at));
    const name = escapeName(piece);
    const before = key.slice(0, at);
    if (!fits([...names, name])) return { names, before, rest: hashedName(key) };
    at += piece.length;
    if (at >= key.length) return { names, before, rest: name };
    names.push(name);
  }
}

function fits(names: readonly string[]): boolean {
  return names.reduce((length, name) => length + name.length + 1, 0) <= MAX_PATH_LENGTH;
}

/** The length in code units of the piece of a key that begins at `at`, where the piece before it ended. */
function pieceLength(key: string, at: number): number {
  const slash = key.indexOf('/', at);
  const upToSlash = slash === -1 ? Number.POSITIVE_INFINITY : slash + 1 - at;
  return Math.min(widthAfter(key.slice(0, at)), upToSlash, key.length - at);
}

/** The length of the longest piece that can follow. */
function widthAfter(before: string): number {
  const inSegment = before.length - (before.lastIndexOf('/') + 1);
  const cut = CUTS.find((cut) => cut > inSegment);
  return cut === undefined ? LATER_WIDTH : cut - inSegment;
}

/** Whether a key may go on after this piece, rather than end with it. */
function isWhole(piece: string, before: string): boolean {
  return piece.endsWith('/') || piece.length === widthAfter(before);
}
