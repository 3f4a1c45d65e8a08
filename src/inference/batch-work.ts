import { ModelFolderError } from '../contract/index.js';
import {
  type AnswerDetail,
  answerWithDoubts,
  type Decoder,
  ExplainedText,
  type ModelResult,
  type RuleSet,
} from '../families/index.js';
import type { ModelFolderConfig } from '../models/index.js';
import type { TextReader, TextWindow, Tokenizer, WindowOutputs } from '../text/index.js';
import type { EncoderRuns } from './encoder-runs.js';
import type { BatchAnswer, StageTimes } from './worker.js';

/** Texts of more UTF-16 code units are decoded in steps. */
const LONG_TEXT = 4000;

export interface WorkOptions {
  readonly cancelled?: ReadonlySet<number>;
  /** As of a request, for each text. Default: no explanation. */
  readonly explain?: readonly (AnswerDetail | undefined)[] | undefined;
  /** The rules for each text in place of the folder's; false for none. Default: the folder's. */
  readonly rules?: readonly (RuleSet | false | undefined)[] | undefined;
}

export interface WorkSlice extends Omit<BatchAnswer, 'times' | 'loadedBytes' | 'deviceUse' | 'runtimeUse'> {
  readonly times: StageTimes;
}

export interface ModelParts {
  readonly reader: TextReader;
  readonly runs: Pick<EncoderRuns, 'plan' | 'run'>;
  /** @param rules in place of the folder's; false for none. */
  decoderWith(rules: RuleSet | false | undefined): Decoder;
}

/** The encoder needs a row for each token; windows need room for text and overlap by at most half. @throws ModelFolderError */
export function checkReading(
  config: ModelFolderConfig,
  tokenizer: Tokenizer,
  { configFile, tokenizerFile }: { readonly configFile: string; readonly tokenizerFile: string },
): void {
  const { vocab_size: rows } = config;
  const { max_tokens, window_overlap = 0 } = config.orchard;
  const { vocabularySize, specialTokens } = tokenizer;
  const highest = Math.max(vocabularySize - 1, ...Object.values(specialTokens));
  if (typeof rows === 'number' && highest >= rows) {
    const reason = `it has ids up to ${highest}, but config.json has a vocab_size of ${rows}`;
    throw new ModelFolderError(tokenizerFile, reason);
  }
  const special = tokenizer.encode('').sequenceIds.reduce((count, text) => count + (text === -1 ? 1 : 0), 0);
  const room = max_tokens - special;
  if (room >= 1 && window_overlap <= room / 2) return;
  const reason =
    room < 1
      ? `orchard.max_tokens is ${max_tokens}, which leaves no room for a text: ${special} tokens are special`
      : `orchard.window_overlap is ${window_overlap}, more than half of the ${room} tokens of a text`;
  throw new ModelFolderError(configFile, reason);
}

/** Logits and hidden states stay below 1,000; far larger ones overflow float32 when they are blended. */
const LARGEST_OUTPUT = 1e6;

/** @throws ModelFolderError for outputs out of range. @param path of the graph */
export function checkNumbers(outputs: Float32Array, path: string): void {
  for (let at = 0; at < outputs.length; at += 1) {
    const value = outputs[at] ?? 0;
    if (value >= -LARGEST_OUTPUT && value <= LARGEST_OUTPUT) continue;
    throw new ModelFolderError(path, `the graph gives ${value} for a text; its weights are damaged`);
  }
}

interface TextReading {
  readonly text: string;
  readonly row: number;
  readonly windows: readonly TextWindow[];
  readonly explained?: ExplainedText;
}

function outputsIn(computed: ReadonlyMap<TextWindow, Float32Array>, windows: readonly TextWindow[]): WindowOutputs[] {
  const known: WindowOutputs[] = [];
  for (const window of windows) {
    const outputs = computed.get(window);
    if (outputs !== undefined) known.push({ encoding: window.encoding, outputs });
  }
  return known;
}

/** Where work may pause: after a promise that is yielded, or at once. */
type Steps = Generator<Promise<void> | undefined, void>;

const NONE: ReadonlySet<number> = new Set();

/** Can pause after each long text is tokenized, after each run of the encoder, and between steps of decoding a long text. */
export class BatchWork {
  /** Whether nothing else runs or waits. */
  alone = false;
  readonly #parts: ModelParts;
  readonly #texts: readonly string[];
  readonly #cancelled: ReadonlySet<number>;
  readonly #explain: readonly (AnswerDetail | undefined)[];
  readonly #rules: readonly (RuleSet | false | undefined)[];
  readonly #decoders = new Map<RuleSet | false | undefined, Decoder>();
  readonly #results: (ModelResult | undefined)[];
  readonly #truncated: number[] = [];
  readonly #steps: Steps;
  #times = { load: 0, tokenize: 0, run: 0, decode: 0 };
  #stage: keyof StageTimes = 'tokenize';
  #since = 0;

  constructor(
    parts: ModelParts,
    texts: readonly string[],
    { cancelled = NONE, explain = [], rules = [] }: WorkOptions = {},
  ) {
    this.#parts = parts;
    this.#texts = texts;
    this.#cancelled = cancelled;
    this.#explain = explain;
    this.#rules = rules;
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
      const step = this.#steps.next();
      isUnfinished = !step.done;
      if (step.value !== undefined) await step.value;
      if (performance.now() >= until) break;
    }
    this.#enter(this.#stage);
    const times = this.#times;
    this.#times = { load: 0, tokenize: 0, run: 0, decode: 0 };
    if (isUnfinished) return { results: [], truncated: [], times, isUnfinished };
    return { results: this.#results, truncated: this.#truncated, times, isUnfinished };
  }

  *#work(): Steps {
    const readings: TextReading[] = [];
    const windows: TextWindow[] = [];
    for (let row = 0; row < this.#texts.length; row += 1) {
      const text = this.#texts[row] ?? '';
      if (this.#cancelled.has(row)) continue;
      const reading = this.#read(text, row);
      readings.push(reading);
      windows.push(...reading.windows);
      if (reading.explained !== undefined) {
        yield* reading.explained.read(this.#parts.reader, reading.windows, row);
        windows.push(...reading.explained.windows);
      }
      if (text.length > LONG_TEXT) yield;
    }
    this.#enter('run');
    const computed = new Map<TextWindow, Float32Array>();
    const { runs } = this.#parts;
    for (const run of runs.plan(windows)) {
      const wanted = this.#cancelled.size === 0 ? run : run.filter(({ row }) => !this.#cancelled.has(row));
      if (wanted.length > 0) yield runs.run(wanted, this.alone, computed);
    }
    this.#enter('decode');
    const outputsOf = (some: readonly TextWindow[]) => outputsIn(computed, some);
    for (const { text, row, windows: own, explained } of readings) {
      if (this.#cancelled.has(row)) continue;
      const outputs = outputsIn(computed, own);
      const decode = this.#decoderOf(row);
      const choice = this.#explain[row];
      if (choice === 'doubts') {
        this.#results[row] = answerWithDoubts(decode, text, outputs);
      } else if (explained !== undefined) {
        yield* this.#answer(row, explained.explain(outputs, outputsOf, choice ?? {}));
      } else if (decode.inSteps !== undefined && text.length > LONG_TEXT) {
        yield* this.#answer(row, decode.inSteps(text, outputs));
      } else this.#results[row] = decode(text, outputs);
    }
  }

  #read(text: string, row: number): TextReading {
    const { reader } = this.#parts;
    const windows = reader.windowsOf(text, row);
    if ((windows[0]?.encoding.truncated ?? 0) > 0) this.#truncated.push(row);
    const choice = this.#explain[row];
    if (choice === undefined || choice === 'doubts') return { text, row, windows };
    return { text, row, windows, explained: new ExplainedText(this.#decoderOf(row).explainer, text) };
  }

  #decoderOf(row: number): Decoder {
    const rules = this.#rules[row];
    const decoder = this.#decoders.get(rules) ?? this.#parts.decoderWith(rules);
    this.#decoders.set(rules, decoder);
    return decoder;
  }

  *#answer(row: number, steps: Generator<undefined, ModelResult>): Generator<undefined, void> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) this.#results[row] = step.value;
      if (step.done || this.#cancelled.has(row)) return;
      yield;
    }
  }

  #enter(stage: keyof StageTimes): void {
    const now = performance.now();
    this.#times[this.#stage] += now - this.#since;
    this.#since = now;
    this.#stage = stage;
  }
}
