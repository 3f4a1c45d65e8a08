import { ModelFolderError } from '../../contract/index.js';
import { type AlignedText, Rewriting } from './aligned-text.js';

/** SentencePiece's table of what characters become, `precompiled_charsmap`, applied as the Rust `tokenizers` package does. */

/** A longer group of characters is looked up character by character: as in the Rust package, in bytes of UTF-8. */
const MAX_GROUP_BYTES = 5;

/** What a character becomes at most, in bytes of UTF-8; Unicode's longest compatible form has 33. */
export const MAX_FORM_BYTES = 64;

const PLAIN = 1;
const REWRITTEN = 2;

const NUL = 0;

/** The bits of a unit of the Darts double array (Yata 2008): label, distance to the children, whether a value ends here. */
const VALUE_BITS = 0x7fffffff;
const HAS_VALUE = 1 << 8;
const LABEL_BITS = 0x800000ff | 0;
const IS_FAR = 1 << 9;

export class CharacterMap {
  readonly #units: Int32Array;
  /** What characters become, in UTF-8, each ended by a NUL. */
  readonly #forms: Buffer;
  /** By group of characters; undefined: it stays. */
  readonly #known = new Map<string, string | undefined>();
  /** What is known of each ASCII character: 0 nothing yet, {@link PLAIN} or {@link REWRITTEN}. */
  readonly #plain = new Uint8Array(0x80);
  #groups: Intl.Segmenter | undefined;

  /** @param base64 as tokenizer.json has it. @param file named in errors. @throws ModelFolderError */
  constructor(base64: string, file: string) {
    const bytes = Buffer.from(base64, 'base64');
    const size = bytes.length >= 4 ? bytes.readUInt32LE(0) : 0;
    if (size < 4 || size % 4 !== 0 || size + 4 > bytes.length) {
      throw new ModelFolderError(file, 'normalizer.precompiled_charsmap: not a table of SentencePiece');
    }
    this.#units = Int32Array.from({ length: size / 4 }, (_, unit) => bytes.readInt32LE(4 + 4 * unit));
    this.#forms = bytes.subarray(4 + size);
    if (longestForm(this.#forms) > MAX_FORM_BYTES) {
      const reason = `it makes more than ${MAX_FORM_BYTES} bytes of a character`;
      throw new ModelFolderError(file, `normalizer.precompiled_charsmap: ${reason}`);
    }
  }

  /** A group of characters that readers see as one is looked up as a whole, then its characters one by one. */
  apply(text: AlignedText): AlignedText {
    if (text.characters.every((character) => this.#isPlain(character))) return text;
    const rewriting = new Rewriting(text);
    let isFirst = true;
    for (const group of this.#groupsOf(text)) {
      const form = this.#form(group);
      const characters = group.length === 1 ? [group] : Array.from(group);
      if (form !== undefined && Buffer.byteLength(group) <= MAX_GROUP_BYTES) {
        rewrite(rewriting, characters.length, form, isFirst);
        isFirst &&= form === '';
        continue;
      }
      for (const character of characters) {
        const own = characters.length === 1 ? form : this.#form(character);
        if (own === undefined) rewriting.replace(character);
        else rewrite(rewriting, 1, own, isFirst);
        isFirst &&= own === '';
      }
    }
    return rewriting.result();
  }

  /** Whether a character is ASCII and stays. */
  #isPlain(character: string): boolean {
    if (character >= '\u0080' || character === '\r') return false;
    this.#plain[character.charCodeAt(0)] ||= this.#form(character) === undefined ? PLAIN : REWRITTEN;
    return this.#plain[character.charCodeAt(0)] === PLAIN;
  }

  /** Extended grapheme clusters (UAX #29). */
  #groupsOf({ characters }: AlignedText): string[] {
    this.#groups ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
    const groups: string[] = [];
    let run = '';
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      const isBoundary = next === undefined || (standsAlone(character) && standsAlone(next));
      run += character;
      if (!isBoundary) continue;
      if (run === character) groups.push(character);
      else for (const { segment } of this.#groups.segment(run)) groups.push(segment);
      run = '';
    }
    return groups;
  }

  #form(group: string): string | undefined {
    if (this.#known.has(group)) return this.#known.get(group);
    const form = this.#lookUp(Buffer.from(group));
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(group, form);
    return form;
  }

  /** What the shortest beginning in the table becomes. */
  #lookUp(bytes: Uint8Array): string | undefined {
    const units = this.#units;
    let node = childrenOf(0, units[0] ?? 0);
    for (const byte of bytes) {
      if (byte === NUL) return undefined;
      node ^= byte;
      const unit = units[node] ?? 0;
      if ((unit & LABEL_BITS) !== byte) return undefined;
      node = childrenOf(node, unit);
      if ((unit & HAS_VALUE) !== 0) return this.#formAt((units[node] ?? 0) & VALUE_BITS);
    }
    return undefined;
  }

  #formAt(start: number): string {
    const end = this.#forms.indexOf(NUL, start);
    return this.#forms.toString('utf8', start, end === -1 ? undefined : end);
  }
}

function longestForm(forms: Buffer): number {
  let longest = 0;
  for (let start = 0; start < forms.length; ) {
    const nul = forms.indexOf(NUL, start);
    const end = nul === -1 ? forms.length : nul;
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

/** Whether two such characters side by side are never one group: ASCII, kana, ideographs and Korean syllables. */
function standsAlone(character: string): boolean {
  if (character < '\u0080') return character !== '\r' && character !== '\n';
  if (character < '\u3041') return false;
  return (
    (character >= '\u309b' && character <= '\u9fff') ||
    character <= '\u3096' ||
    (character >= '\uac00' && character <= '\ud7a3')
  );
}

/** Groups of characters whose forms are kept. */
const MAX_REMEMBERED = 1 << 14;

function childrenOf(node: number, unit: number): number {
  return node ^ ((unit >>> 10) << ((unit & IS_FAR) >>> 6));
}

/** @param count how many characters become `form`. @param isFirst nothing stands before them. */
function rewrite(rewriting: Rewriting, count: number, form: string, isFirst: boolean): void {
  const characters = Array.from(form);
  const added = Math.max(0, characters.length - count);
  for (const [index, character] of characters.entries()) {
    if (index < characters.length - added) rewriting.replace(character);
    else rewriting.insert(character);
  }
  const removed = Math.max(0, count - characters.length);
  if (removed === 0) return;
  if (isFirst && characters.length === 0) rewriting.skip(removed);
  else rewriting.mergeIntoLast(removed);
}
