import { type Baseline, drawn, MOST_VECTORS, makeBaseline, PROBE_TEXT } from '../drift/index.js';
import { type Encoder, pooledStates } from '../encoder/index.js';
import { Evaluator, type TaskHead, type Weights } from '../engine/index.js';
import type { JudgedText, TrainingTask } from '../families/index.js';
import type { GraphExecutor } from '../graph/index.js';
import { mapWithPauses, withPauses } from '../system/index.js';
import { TextReader, type Tokenizer } from '../text/index.js';

interface TrainedParts {
  /** Without edited copies of rows. */
  readonly task: Pick<TrainingTask, 'train' | 'head'>;
  readonly judgedTexts: readonly JudgedText[];
  /** What the model answers with; undefined of one that ranks passages. */
  readonly labels: readonly string[] | undefined;
  readonly encoder: Encoder;
  readonly weights: Weights;
  readonly tokenizer: Tokenizer;
  readonly maxTokens: number;
  /** Whether the encoder learned from the judged texts: then their vectors are unlike those of other texts. */
  readonly hasLearned: boolean;
}

interface BaselineOptions {
  readonly executor: GraphExecutor;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** As vectors are read from a model's folder (write-encoder.ts). */
const MAX_TOKENS = 256;

/**
 * The baseline of a finished run, from texts that the model was judged on.
 * @returns undefined if there are none
 * @throws AbortedError soon after the signal fires
 */
export async function trainingBaseline(
  parts: TrainedParts,
  { executor, seed, signal }: BaselineOptions,
): Promise<Baseline | undefined> {
  const { task, judgedTexts: texts, labels } = parts;
  if (texts.length === 0) return undefined;
  const encoded = drawn(texts, MOST_VECTORS, seed).map(({ text }) => text);
  const vectors = parts.hasLearned ? undefined : await vectorsOf([PROBE_TEXT, ...encoded], parts, executor, signal);
  const [probe = new Float32Array(), ...some] = vectors ?? [];
  const input = {
    origin: 'training',
    known: task.train,
    texts,
    labels,
    ...(vectors && { vectors: { some, probe } }),
  } as const;
  return withPauses(makeBaseline(input, seed), signal);
}

/** The mean of the states of each text's first tokens: what the model's folder gives as its vector, but for the length. */
async function vectorsOf(
  texts: readonly string[],
  { task, encoder, weights, tokenizer, maxTokens }: TrainedParts,
  executor: GraphExecutor,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const prefix = task.head.kind === 'pairs' ? '' : encoder.prefix;
  const head: TaskHead = {
    per: 'text',
    outputs: ({ width }) => width,
    parameters: () => encoder.parameters(prefix),
    logits: (graph, _, inputs, dropout) =>
      pooledStates(graph, encoder, inputs, { prefix, dropout, pooling: 'mean', differentiable: false }),
  };
  const reader = new TextReader(tokenizer, { max_tokens: Math.min(MAX_TOKENS, maxTokens), pooling: 'mean' });
  const windows = await mapWithPauses(texts, (text, row) => reader.windowsOf(text, row), signal);
  const evaluator = await Evaluator.create(executor, head, encoder, { weights });
  const outputs = await evaluator.outputs(windows.flat(), {}, signal).finally(() => evaluator.release());
  return outputs.map(([window]) => window?.outputs ?? new Float32Array(encoder.width));
}
