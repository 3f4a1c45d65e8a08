/** GPT-2's way to write bytes as characters (Radford et al. 2019), and its splitting. */
import { type AlignedText, Rewriting } from './aligned-text.js';

/** Printable Latin-1 stands for itself, the other 68 bytes are U+0100 and up, in order. */
const characterOfByte: readonly string[] = (() => {
  const characters: string[] = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    characters.push(String.fromCharCode(isPrintable(byte) ? byte : next));
    if (!isPrintable(byte)) next += 1;
  }
  return characters;
})();

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
}

/** A space as a character of bytes. */
export const BYTE_SPACE = 'Ġ';

/** All characters that bytes are written as. */
export const byteAlphabet: readonly string[] = characterOfByte;

/** GPT-2's words, with Unicode's white space instead of JavaScript's `\s`. */
export const GPT2_WORDS =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const encoder = new TextEncoder();

/** Each character becomes one for each of its bytes. */
export function asBytes(text: AlignedText): AlignedText {
  const rewriting = new Rewriting(text);
  for (const character of text.characters) {
    if (character < '\u0080') {
      rewriting.replace(characterOfByte[character.charCodeAt(0)] ?? character);
      continue;
    }
    for (const [index, byte] of encoder.encode(character).entries()) {
      if (index === 0) rewriting.replace(characterOfByte[byte] ?? '');
      else rewriting.insert(characterOfByte[byte] ?? '');
    }
  }
  return rewriting.result();
}
