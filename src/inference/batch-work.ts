import type { InferenceResult } from '../contract/index.js';
import type { Decoder } from '../families/index.js';
import type { TextReader, TextWindow, WindowOutputs } from '../text-reader/index.js';
import type { EncoderRuns } from './encoder-runs.js';
import type { BatchAnswer, StageTimes } from './lane.js';

/** Texts of more UTF-16 code units are decoded step by step. */
const LONG_TEXT = 4000;

/** How texts are answered. */
export interface WorkOptions {
  /** Texts, by their index, that needn't be answered any more. */
  readonly cancelled?: ReadonlySet<number>;
}

/** What a slice of work came to. */
export interface WorkSlice extends Omit<BatchAnswer, 'times' | 'loadedBytes' | 'deviceUse'> {
  readonly times: Omit<StageTimes, 'load'>;
}

/** What a model answers with. */
export interface ModelParts {
  readonly reader: TextReader;
  readonly runs: EncoderRuns;
  readonly decode: Decoder;
}

type Stage = 'tokenize' | 'run' | 'decode';

/**
 * The work that some texts are for a model, done in slices: it can pause after each text that was tokenized, after each
 * run of the encoder, and between the steps in which a long text is decoded.
 */
export class BatchWork {
  /** Whether runs have the machine for themselves. */
  alone = false;
  readonly #parts: ModelParts;
  readonly #texts: readonly string[];
  readonly #cancelled: ReadonlySet<number>;
  readonly #results: (InferenceResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #steps: AsyncGenerator<undefined, void>;
  #tokens = 0;
  #times = { tokenize: 0, run: 0, decode: 0 };
  #stage: Stage = 'tokenize';
  #since = 0;

  constructor(parts: ModelParts, texts: readonly string[], { cancelled = new Set() }: WorkOptions = {}) {
    this.#parts = parts;
    this.#texts = texts;
    this.#cancelled = cancelled;
    this.#results = new Array(texts.length);
    this.#steps = this.#work();
  }

  /** Whether nobody waits for any of the texts. */
  get isCancelled(): boolean {
    return this.#cancelled.size === this.#texts.length;
  }

  /** Works on for about `ms` milliseconds: until the first step that ends after them, or all is done. */
  async advance(ms: number): Promise<WorkSlice> {
    this.#since = performance.now();
    const until = this.#since + ms;
    let isUnfinished = true;
    while (isUnfinished) {
      isUnfinished = !(await this.#steps.next()).done;
      if (performance.now() >= until) break;
    }
    this.#enter(this.#stage);
    const times = this.#times;
    this.#times = { tokenize: 0, run: 0, decode: 0 };
    if (isUnfinished) return { results: [], truncated: [], tokens: 0, times, isUnfinished };
    return { results: this.#results, truncated: this.#truncated, tokens: this.#tokens, times, isUnfinished };
  }

  async *#work(): AsyncGenerator<undefined, void> {
    const { reader, runs } = this.#parts;
    const windows: TextWindow[] = [];
    for (const [row, text] of this.#texts.entries()) {
      if (this.#cancelled.has(row)) continue;
      for (const window of reader.windowsOf(text, row)) windows.push(window);
      if (text.length > LONG_TEXT) yield;
    }
    this.#note(windows);
    this.#enter('run');
    const computed = new Map<TextWindow, Float32Array>();
    const options = { alone: () => this.alone, cancelled: this.#cancelled };
    yield* runs.compute(windows, computed, options);
    this.#enter('decode');
    yield* this.#decodeAll(windows, computed);
  }

  *#decodeAll(
    windows: readonly TextWindow[],
    computed: ReadonlyMap<TextWindow, Float32Array>,
  ): Generator<undefined, void> {
    const outputs = this.#texts.map((): WindowOutputs[] => []);
    for (const window of windows) {
      const own = computed.get(window);
      if (own !== undefined) outputs[window.row]?.push({ encoding: window.encoding, outputs: own });
    }
    const { decode } = this.#parts;
    for (const [row, text] of this.#texts.entries()) {
      const own = outputs[row] ?? [];
      if (decode.inSteps === undefined || text.length <= LONG_TEXT) {
        if (!this.#cancelled.has(row)) this.#results[row] = decode(text, own);
        continue;
      }
      const steps = decode.inSteps(text, own);
      while (!this.#cancelled.has(row)) {
        const step = steps.next();
        if (step.done) this.#results[row] = step.value;
        if (step.done) break;
        yield;
      }
    }
  }

  /** What is told of the windows with the answer. */
  #note(windows: readonly TextWindow[]): void {
    for (const { row, encoding } of windows) {
      this.#tokens += encoding.ids.length;
      if (encoding.truncated > 0) this.#truncated.push(row);
    }
  }

  #enter(stage: Stage): void {
    const now = performance.now();
    this.#times[this.#stage] += now - this.#since;
    this.#since = now;
    this.#stage = stage;
  }
}
