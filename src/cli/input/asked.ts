import type { InputText, InputTexts } from './texts.js';

type Text = Extract<InputText, { readonly text: string }>;
type Problem = Extract<InputText, { readonly problem: string }>;

/** What was read and has no answer yet, in its order: answers come in that of the texts. */
export class Asked {
  readonly #source: InputTexts;
  readonly #waiting: InputText[] = [];
  #answered = 0;

  constructor(source: InputTexts) {
    this.#source = source;
  }

  /** Texts that were answered. */
  get answered(): number {
    return this.#answered;
  }

  /** The texts to answer; problems are kept in their places. */
  async *texts(): AsyncGenerator<string, void, undefined> {
    for await (const each of this.#source) {
      this.#waiting.push(each);
      if ('text' in each) yield each.text;
    }
  }

  /** The problems before the next text. */
  takeProblems(): readonly Problem[] {
    const taken: Problem[] = [];
    for (let first = this.#waiting[0]; first !== undefined && 'problem' in first; first = this.#waiting[0]) {
      taken.push(first);
      this.#waiting.shift();
    }
    return taken;
  }

  /** The text that was answered now. */
  take(): Text {
    const first = this.#waiting.shift();
    if (first === undefined || !('text' in first)) throw new Error('an answer without a text');
    this.#answered += 1;
    return first;
  }
}
