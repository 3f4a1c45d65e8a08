import { isUtf8 } from 'node:buffer';

/** A line without its line break. */
export interface ByteLine {
  /** 1-based. */
  readonly line: number;
  /** Absent where `problem` says why. */
  readonly text?: string;
  /** Why the line can't be read. */
  readonly problem?: string;
}

/** Bytes of the longest line that is read; what follows is skipped to the next line break. */
export const MAX_LINE_BYTES = 16 * 2 ** 20;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * The lines of a stream of bytes, as they come, in bounded memory. A line ends at LF or CRLF and nowhere else; what
 * follows the last one is a line only if it isn't empty. A byte order mark at the beginning is dropped.
 */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ByteLine, void, undefined> {
  const pending = new PendingLine();
  let line = 1;
  for await (const piece of bytes) {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      pending.add(piece.subarray(start, end));
      yield pending.take(line);
      line += 1;
      start = end + 1;
    }
    pending.add(piece.subarray(start));
  }
  if (!pending.isEmpty) yield pending.take(line);
}

/** What has come of a line so far. */
class PendingLine {
  #pieces: Uint8Array[] = [];
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length <= MAX_LINE_BYTES) this.#pieces.push(piece);
    else this.#pieces = []; // nobody gets it
  }

  /** The line, and begins the next. */
  take(line: number): ByteLine {
    const [length, whole] = [this.#length, Buffer.concat(this.#pieces)];
    this.#pieces = [];
    this.#length = 0;
    if (length > MAX_LINE_BYTES) return { line, problem: `longer than ${MAX_LINE_BYTES / 2 ** 20} MiB` };
    const bytes = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    if (!isUtf8(bytes)) return { line, problem: 'not UTF-8; convert the file, for instance with iconv' };
    const text = bytes.toString('utf8');
    return { line, text: line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text };
  }
}
