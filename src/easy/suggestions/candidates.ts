import type { Random } from '../../random.js';

/** A text that may be suggested. */
export interface Candidate {
  readonly text: string;
  /** Its position among all texts, from 0. */
  readonly index: number;
  /** 0 to 1. */
  readonly uncertainty: number;
}

interface Ranked extends Candidate {
  /** Decides among equally uncertain ones. */
  readonly lot: number;
}

/** The most uncertain of any number of texts, each different text once, case and spacing aside; in bounded memory. */
export class Candidates {
  readonly #most: number;
  readonly #random: Random;
  #kept: Ranked[] = [];
  #texts = new Set<string>();

  /** @param most that are kept. */
  constructor(most: number, random: Random) {
    this.#most = most;
    this.#random = random;
  }

  add(candidate: Candidate): void {
    const lot = this.#random.uniform();
    const key = keyOf(candidate.text);
    if (this.#texts.has(key)) return;
    this.#texts.add(key);
    this.#kept.push({ ...candidate, lot });
    if (this.#kept.length >= 2 * this.#most) this.#shrink();
  }

  /** The most uncertain first. */
  best(): readonly Candidate[] {
    this.#shrink();
    return this.#kept;
  }

  #shrink(): void {
    this.#kept.sort((a, b) => b.uncertainty - a.uncertainty || b.lot - a.lot);
    this.#kept = this.#kept.slice(0, this.#most);
    this.#texts = new Set(this.#kept.map(({ text }) => keyOf(text)));
  }
}

function keyOf(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}
