import type { Terminal } from './terminal.js';

const WIDTH = 24;
/** How often the bar is drawn again, at most. */
const REDRAW_MS = 100;
/** Back to the beginning of the line, and clears it. */
const CLEAR = '\r\u001B[K';

/** A bar on standard error, drawn only where that is a terminal. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #isShown: boolean;
  #drawnAt = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#isShown = terminal.stderr.isTTY === true;
  }

  /** @param fraction 0 to 1; undefined where nobody knows. @param told what stands after the bar */
  show(fraction: number | undefined, told: string): void {
    if (!this.#isShown) return;
    const now = performance.now();
    if (now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const bar =
      fraction === undefined
        ? ''
        : `${barOf(fraction)} ${String(Math.floor(100 * fraction)).padStart(3)} %  `;
    const width = this.#terminal.stderr.columns ?? 80;
    this.#terminal.stderr.write(CLEAR + `${bar}${told}`.slice(0, width - 1));
  }

  /** Makes room for other lines, or for the end. */
  clear(): void {
    if (this.#isShown && this.#drawnAt > 0) this.#terminal.stderr.write(CLEAR);
    this.#drawnAt = 0;
  }
}

function barOf(fraction: number): string {
  const full = Math.round(WIDTH * fraction);
  return '█'.repeat(full) + '░'.repeat(WIDTH - full);
}
