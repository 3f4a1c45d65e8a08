import type { Encoding } from './tokenizer.js';

/**
 * Cuts an encoding of one text into overlapping windows that each fit the model, so that nothing of a long
 * text is lost. Every window has the special tokens around it, and offsets into the whole text.
 * @param encoding of a single text, without `maxLength`.
 * @param maxLength the most tokens of a window, including special ones.
 * @param overlap how many pieces neighbouring windows share at least.
 * @throws RangeError if the special tokens and the overlap leave a window no room.
 */
export function encodingWindows(encoding: Encoding, maxLength: number, overlap: number): Encoding[] {
  const { length } = encoding.ids;
  if (length <= maxLength) return [encoding];
  const first = encoding.sequenceIds.indexOf(0);
  const end = encoding.sequenceIds.lastIndexOf(0) + 1;
  const pieces = maxLength - first - (length - end);
  if (pieces <= overlap) throw new RangeError(`a window of ${maxLength} tokens can't overlap by ${overlap}`);
  const windows: Encoding[] = [];
  for (let from = first; ; from += pieces - overlap) {
    const start = Math.min(from, end - pieces);
    windows.push(windowOf(encoding, { first, start, stop: start + pieces, end }));
    if (start + pieces >= end) return windows;
  }
}

interface Cut {
  /** Where the text begins and ends in the encoding, and the window in it. */
  readonly first: number;
  readonly start: number;
  readonly stop: number;
  readonly end: number;
}

function windowOf({ ids, typeIds, sequenceIds, offsets }: Encoding, cut: Cut): Encoding {
  return {
    ids: cutOut(ids, cut, 1),
    typeIds: cutOut(typeIds, cut, 1),
    sequenceIds: cutOut(sequenceIds, cut, 1),
    offsets: offsets && cutOut(offsets, cut, 2),
    truncated: 0,
  };
}

/** What comes before the text, the window, and what comes after the text. */
function cutOut(values: Int32Array, { first, start, stop, end }: Cut, width: number): Int32Array {
  return Int32Array.of(
    ...values.subarray(0, width * first),
    ...values.subarray(width * start, width * stop),
    ...values.subarray(width * end),
  );
}
