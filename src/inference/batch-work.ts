import { type Decoder, ExplainedText, type ExplanationChoice, type ModelResult } from '../families/index.js';
import type { TextReader, TextWindow, WindowOutputs } from '../text/index.js';
import type { EncoderRuns } from './encoder-runs.js';
import type { BatchAnswer, StageTimes } from './worker.js';

/** Texts of more UTF-16 code units are decoded in steps. */
const LONG_TEXT = 4000;

export interface WorkOptions {
  readonly cancelled?: ReadonlySet<number>;
  /** What to explain of each text; undefined for texts without an explanation. Default: none. */
  readonly explain?: readonly (ExplanationChoice | undefined)[] | undefined;
}

export interface WorkSlice extends Omit<BatchAnswer, 'times' | 'loadedBytes' | 'deviceUse'> {
  readonly times: Omit<StageTimes, 'load'>;
}

export interface ModelParts {
  readonly reader: TextReader;
  readonly runs: EncoderRuns;
  readonly decode: Decoder;
}

interface TextReading {
  readonly text: string;
  readonly row: number;
  readonly windows: readonly TextWindow[];
  readonly choice?: ExplanationChoice;
  readonly explained?: ExplainedText;
}

type Stage = 'tokenize' | 'run' | 'decode';

/** Can pause after each tokenized text, each run of the encoder, and between steps of decoding a long text. */
export class BatchWork {
  /** Whether nothing else runs or waits. */
  alone = false;
  readonly #parts: ModelParts;
  readonly #texts: readonly string[];
  readonly #cancelled: ReadonlySet<number>;
  readonly #explain: readonly (ExplanationChoice | undefined)[];
  readonly #results: (ModelResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #steps: AsyncGenerator<undefined, void>;
  #tokens = 0;
  #times = { tokenize: 0, run: 0, decode: 0 };
  #stage: Stage = 'tokenize';
  #since = 0;

  constructor(parts: ModelParts, texts: readonly string[], { cancelled = new Set(), explain = [] }: WorkOptions = {}) {
    this.#parts = parts;
    this.#texts = texts;
    this.#cancelled = cancelled;
    this.#explain = explain;
    this.#results = new Array(texts.length);
    this.#steps = this.#work();
  }

  get isCancelled(): boolean {
    return this.#cancelled.size === this.#texts.length;
  }

  /** Continues for about `ms` milliseconds: until the first step that ends after them, or until all is done. */
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
    const readings: TextReading[] = [];
    for (const [row, text] of this.#texts.entries()) {
      if (!this.#cancelled.has(row)) readings.push(yield* this.#read(text, row));
      if (text.length > LONG_TEXT) yield;
    }
    this.#note(readings.flatMap(({ windows }) => windows));
    this.#enter('run');
    const computed = new Map<TextWindow, Float32Array>();
    const options = { alone: () => this.alone, cancelled: this.#cancelled };
    const windows = readings.flatMap((reading) => [...reading.windows, ...(reading.explained?.windows ?? [])]);
    yield* this.#parts.runs.compute(windows, computed, options);
    this.#enter('decode');
    yield* this.#decodeAll(readings, computed);
  }

  *#read(text: string, row: number): Generator<undefined, TextReading> {
    const { reader, decode } = this.#parts;
    const windows = reader.windowsOf(text, row);
    const choice = this.#explain[row];
    if (choice === undefined) return { text, row, windows };
    const explained = new ExplainedText(decode.explainer, text);
    yield* explained.read(reader, windows, row);
    return { text, row, windows, choice, explained };
  }

  *#decodeAll(
    readings: readonly TextReading[],
    computed: ReadonlyMap<TextWindow, Float32Array>,
  ): Generator<undefined, void> {
    const outputsOf = (windows: readonly TextWindow[]): WindowOutputs[] =>
      windows.flatMap((window) => {
        const outputs = computed.get(window);
        return outputs === undefined ? [] : { encoding: window.encoding, outputs };
      });
    const { decode } = this.#parts;
    for (const { text, row, windows, choice = {}, explained } of readings) {
      const own = outputsOf(windows);
      if (explained !== undefined) {
        yield* this.#answer(row, () => explained.explain(own, outputsOf, choice));
      } else if (decode.inSteps !== undefined && text.length > LONG_TEXT) {
        const { inSteps } = decode;
        yield* this.#answer(row, () => inSteps(text, own));
      } else if (!this.#cancelled.has(row)) this.#results[row] = decode(text, own);
    }
  }

  *#answer(row: number, begin: () => Generator<undefined, ModelResult>): Generator<undefined, void> {
    if (this.#cancelled.has(row)) return;
    const steps = begin();
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) this.#results[row] = step.value;
      if (step.done || this.#cancelled.has(row)) return;
      yield;
    }
  }

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
