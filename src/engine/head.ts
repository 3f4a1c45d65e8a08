/** What stands on an encoder while it learns, and what its loss is fed. */
import type { BertConfig, Dropout, EncoderInputs, ParameterSpec } from '../encoder/index.js';
import type { Graph, Tensor, TensorData } from '../graph/index.js';
import type { TextWindow } from '../text-reader/index.js';

/** Encoder and head as part of a graph. */
export interface Head {
  /** How many numbers it computes for each text, or for each token. */
  outputs(encoder: BertConfig): number;
  /** Adds encoder and head to a graph. @returns [batch, outputs], or [tokens, batch, outputs]. */
  logits(graph: Graph, encoder: BertConfig, inputs: EncoderInputs, dropout: Dropout): Tensor;
}

/** A head with its loss, whatever that is fed. */
export interface LossHead extends Head {
  /** Adds the loss, a scalar: the weighted mean over the texts or tokens of a batch. */
  loss(graph: Graph, logits: Tensor): Tensor;
}

/** The head of a training task: its examples are single texts, or texts that are compared with each other. */
export type TrainingHead = RowHead | PairHead;

interface TaskHead extends Head {
  /** What it answers for. */
  readonly per: 'text' | 'token';
  /** The encoder's parameters and its own. */
  parameters(encoder: BertConfig): readonly ParameterSpec[];
}

/** Every text is an example by itself, so a batch may be cut anywhere. */
export interface RowHead extends TaskHead, LossHead {
  readonly kind: 'rows';
  /** What the loss is fed for these training texts, padded to the longest. */
  targets(batch: readonly TextWindow[], options: TargetOptions): LossTargets;
}

/** Texts are compared with all others of their batch, which can't be cut into independent rows. */
export interface PairHead extends TaskHead {
  readonly kind: 'pairs';
  readonly per: 'text';
  /** Which texts make up each example; asked for once, before training. @throws AbortedError soon after the signal fires */
  examples(options: PairOptions): Promise<PairExamples>;
  /** The loss of a batch over the encoder's outputs for its texts, each `width` numbers. */
  pairLoss(width: number): PairLoss;
}

export interface PairOptions {
  /** Of the texts, as training_config names it. */
  readonly language: string;
  readonly signal: AbortSignal;
}

export interface PairExamples {
  /** Rows of the training texts that make up each example: an anchor, its match, and others that don't match. */
  readonly rows: readonly (readonly number[])[];
  /** What the loss is fed for a batch of these examples, by their numbers, beside the encoder's outputs. */
  feeds(batch: readonly number[]): Readonly<Record<string, TensorData>>;
}

/** A graph whose only parameters are outputs of the encoder. */
export interface PairLoss {
  readonly graph: Graph;
  /** [anchors, outputs]: the first text of each example, in the order of the batch. */
  readonly anchors: Tensor;
  /** [candidates, outputs]: the other texts of the first example, then those of the second, and so on. */
  readonly candidates: Tensor;
  readonly loss: Tensor;
}

/** How rows are told to the loss. */
export interface TargetOptions {
  /** Share of a row's target that is spread over all labels evenly (Szegedy et al. 2016), 0 to below 1. */
  readonly labelSmoothing: number;
  /** Whether rare labels count as much as frequent ones. */
  readonly balanced: boolean;
}

export interface LossTargets {
  readonly feeds: Readonly<Record<string, TensorData>>;
  /** What the loss is a mean over, so that batches can be accumulated: the rows, or their summed weights. Above 0. */
  readonly weight: number;
}
