import type * as Rust from 'tokenizers';

/** The Rust `tokenizers` package: the reference that ours is held against. */

/** Platforms that the package has a binary for (glibc and musl on Linux). Elsewhere the comparisons are skipped. */
const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64'];

const supported = SUPPORTED.includes(`${process.platform}-${process.arch}`);

/** For `describe.skipIf`. */
export const withoutRust = !supported;

const rust: typeof Rust | undefined = supported ? await import('tokenizers') : undefined;

export function rustTokenizers(): typeof Rust {
  if (rust === undefined) throw new Error('tokenizers has no binary for this platform');
  return rust;
}

export function rustTokenizer(tokenizerJson: unknown): Rust.Tokenizer {
  return rustTokenizers().Tokenizer.fromString(JSON.stringify(tokenizerJson));
}

export interface ReferenceEncoding {
  readonly ids: number[];
  readonly typeIds: number[];
  readonly sequenceIds: number[];
  /** Two entries a token, in UTF-16 code units. */
  readonly offsets: number[];
}

/** What the reference gives, with -1 for "no sequence" and offsets converted from code points. */
export async function encodeByRust(tokenizer: Rust.Tokenizer, text: string, pair?: string): Promise<ReferenceEncoding> {
  const encoding = await tokenizer.encode(text, pair ?? null);
  const units = [codeUnitPositions(text), codeUnitPositions(pair ?? '')];
  const sequenceIds = encoding.getSequenceIds().map((sequence) => sequence ?? -1);
  return {
    ids: encoding.getIds(),
    typeIds: encoding.getTypeIds(),
    sequenceIds,
    offsets: encoding
      .getOffsets()
      .flatMap((span, token) => span.map((position) => units[sequenceIds[token] ?? 0]?.[position] ?? 0)),
  };
}

/** Names of the fields of `expected` that `actual` doesn't have with the same values. */
export function differences<Fields extends object>(actual: Fields, expected: Fields): string[] {
  const values = new Map(Object.entries(actual));
  return Object.entries(expected)
    .filter(([field, value]) => String(values.get(field)) !== String(value))
    .map(([field]) => field);
}

/** Entry i: where the i-th code point of the text starts, in code units; the last one: the text's end. */
function codeUnitPositions(text: string): number[] {
  const positions = [0];
  let position = 0;
  for (const character of text) {
    position += character.length;
    positions.push(position);
  }
  return positions;
}
