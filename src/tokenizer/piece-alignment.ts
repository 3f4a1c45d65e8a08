/** Finds where the pieces are in a text, for tokenizers that give no offsets. */

/** How a tokenizer writes its pieces. */
export interface PieceNotation {
  /** Each character of a piece stands for one byte of UTF-8 (GPT-2's byte-level BPE). */
  readonly byteLevel: boolean;
  /** What a piece inside a word starts with, such as `##`; '' for nothing. */
  readonly continuingPrefix: string;
  /** What a piece at the end of a word ends with, such as `</w>`; '' for nothing. */
  readonly wordSuffix: string;
  /** The piece for what is not in the vocabulary. */
  readonly unknown: string | undefined;
}

/**
 * Bytes of pieces that share characters' bytes. Chains of pieces that each end within a character have two or three
 * pieces in practice; what never becomes text isn't looked at again with every further piece.
 */
const MAX_GROUP_BYTES = 4096;

/** Pieces with a common span: a single one, or several that share the bytes of a character. */
interface PieceGroup {
  readonly count: number;
  /** Comparable form; null for an unknown piece, which may stand for anything. */
  readonly form: string | null;
}

/** A text in comparable form and, for each of its code units, where the source character starts and ends. */
interface ComparableText {
  readonly form: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/**
 * Matches pieces to the text without regard to case, marks, compatibility forms and white space, which
 * tokenizers change. A piece of white space or marks alone gets an empty span.
 * @returns [start, end) of each piece in UTF-16 code units, or null if pieces and text differ in anything
 * else, or if unknown pieces leave more than one way.
 */
export function alignPieces(
  text: string,
  pieces: readonly string[],
  notation: PieceNotation,
): Int32Array | null {
  const groups = groupPieces(pieces, notation);
  if (groups === null) return null;
  const comparable = comparableText(text);
  const ends = alignGroups(comparable.form, groups);
  if (ends === null) return null;

  const offsets = new Int32Array(2 * pieces.length);
  let piece = 0;
  let from = 0;
  let position = 0;
  for (const [index, group] of groups.entries()) {
    const to = ends[index] ?? from;
    const start = to > from ? (comparable.starts[from] ?? position) : position;
    const end = to > from ? (comparable.ends[to - 1] ?? position) : position;
    for (let i = 0; i < group.count; i++) offsets.set([start, end], 2 * piece++);
    from = to;
    position = end;
  }
  return offsets;
}

/**
 * Where each group ends in `form`. Runs of known groups between unknown ones must match at exactly one place:
 * the first at the start, the last at the end, the others at their only occurrence.
 */
function alignGroups(form: string, groups: readonly PieceGroup[]): number[] | null {
  const ends: number[] = [];
  let from = 0;
  let index = 0;
  while (index < groups.length) {
    const unknownBefore = index > 0;
    const run = knownRun(groups, index);
    const joined = run.map((group) => group.form).join('');
    const isLast = index + run.length === groups.length;
    const at = placeOf(joined, form, from, { unknownBefore, isLast });
    if (at === null) return null;
    if (unknownBefore) ends.push(at);
    from = at;
    for (const group of run) {
      from += group.form?.length ?? 0;
      ends.push(from);
    }
    index += run.length;
    if (isLast) return from === form.length ? ends : null;
    index++;
    if (index === groups.length) ends.push(form.length);
  }
  return ends;
}

function knownRun(groups: readonly PieceGroup[], from: number): PieceGroup[] {
  let end = from;
  while (end < groups.length && groups[end]?.form !== null) end += 1;
  return groups.slice(from, end);
}

function placeOf(
  run: string,
  form: string,
  from: number,
  { unknownBefore, isLast }: { readonly unknownBefore: boolean; readonly isLast: boolean },
): number | null {
  if (!unknownBefore) return form.startsWith(run, from) ? from : null;
  if (isLast) {
    const at = form.length - run.length;
    return at > from && form.endsWith(run) ? at : null;
  }
  const at = form.indexOf(run, from + 1);
  return run !== '' && at !== -1 && at === form.lastIndexOf(run) ? at : null;
}

function groupPieces(pieces: readonly string[], notation: PieceNotation): PieceGroup[] | null {
  const groups: PieceGroup[] = [];
  let bytes: number[] = [];
  let sharing = 0;
  for (const piece of pieces) {
    const pieceBytes = bytesOf(piece, notation);
    if (pieceBytes === null) {
      if (sharing > 0) return null;
      const form = piece === notation.unknown ? null : comparableText(bareForm(piece, notation)).form;
      groups.push({ count: 1, form });
      continue;
    }
    for (const byte of pieceBytes) bytes.push(byte);
    sharing++;
    if (bytes.length > MAX_GROUP_BYTES) return null;
    if (endsWithin(bytes)) continue;
    const text = decodeWhole(bytes);
    if (text === null) return null;
    groups.push({ count: sharing, form: comparableText(text).form });
    bytes = [];
    sharing = 0;
  }
  return sharing === 0 ? groups : null;
}

function bareForm(piece: string, { continuingPrefix, wordSuffix }: PieceNotation): string {
  const start = continuingPrefix !== '' && piece.startsWith(continuingPrefix) ? continuingPrefix.length : 0;
  const end = wordSuffix !== '' && piece.endsWith(wordSuffix) ? -wordSuffix.length : undefined;
  // U+2581 is SentencePiece's space.
  return piece.slice(start, end).replaceAll('\u2581', ' ');
}

/**
 * The bytes that a byte-level piece, or a byte fallback such as `<0xE3>`, stands for; null for other pieces.
 */
function bytesOf(piece: string, { byteLevel, unknown }: PieceNotation): number[] | null {
  const fallback = /^<0x([0-9A-F]{2})>$/.exec(piece);
  if (fallback !== null) return [Number.parseInt(fallback[1] ?? '', 16)];
  if (!byteLevel || piece === unknown) return null;
  const bytes = Array.from(piece, (character) => byteOfCharacter.get(character));
  return bytes.every((byte) => byte !== undefined) ? bytes : null;
}

/** GPT-2's table: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and up, in order. */
const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => byte)
    .sort((a, b) => Number(isPrintable(b)) - Number(isPrintable(a)) || a - b)
    .map((byte, rank) => [String.fromCharCode(isPrintable(byte) ? byte : 256 + rank - 188), byte]),
);

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
}

/** Whether UTF-8 ends within a character, as far as its last four bytes tell. */
function endsWithin(bytes: readonly number[]): boolean {
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);
    if (byte < 0x80) return false;
  }
  return false;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeWhole(bytes: readonly number[]): string | null {
  try {
    return decoder.decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}

function comparableText(text: string): ComparableText {
  let form = '';
  const starts: number[] = [];
  const ends: number[] = [];
  let position = 0;
  for (const character of text) {
    const start = position;
    position += character.length;
    const comparable = comparableCharacter(character);
    form += comparable;
    for (let i = 0; i < comparable.length; i++) {
      starts.push(start);
      ends.push(position);
    }
    // A mark belongs to the character before it.
    if (ends.length > 0 && character > '\u02ff' && /^\p{M}$/u.test(character))
      ends[ends.length - 1] = position;
  }
  return { form, starts, ends };
}

function comparableCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x7f) return code <= 0x20 ? '' : character.toLowerCase();
  return character
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/[\p{M}\s\p{C}]/gu, '');
}
