import type { Dropout, Encoder, EncoderInputs, ParameterSpec } from '../encoder/index.js';
import type { Graph, Tensor, TensorData } from '../graph/index.js';
import type { TextWindow } from '../text/index.js';

export interface Head {
  outputs(encoder: Encoder): number;
  /** Adds encoder and head to a graph. @returns [batch, outputs], or [tokens, batch, outputs]. */
  logits(graph: Graph, encoder: Encoder, inputs: EncoderInputs, dropout: Dropout): Tensor;
}

export interface LossHead extends Head {
  /** Adds the loss, a scalar: the weighted mean over the texts or tokens of a batch. */
  loss(graph: Graph, logits: Tensor): Tensor;
}

export type TrainingHead = RowHead | PairHead;

/** What is asked of a head that isn't trained, too. */
export interface TaskHead extends Head {
  readonly per: 'text' | 'token';
  parameters(encoder: Encoder): readonly ParameterSpec[];
}

/** A linear layer at the end of a head, which can be fitted to the encoder's states before the encoder is trained. */
export interface LinearEnd {
  /** Names of its parameters: [outputs, width of the encoder], and [outputs]. */
  readonly weight: string;
  readonly bias: string;
  /** Losses that the loss averages for each row: its number of outputs where each is a binary decision, else 1. */
  readonly lossesPerRow: number;
  /** Adds to a graph what the layer reads, without dropout: [batch, width], or [tokens, batch, width] of a head per token. */
  states(graph: Graph, encoder: Encoder, inputs: EncoderInputs): Tensor;
  /** Of a head per token: which tokens of these training texts have targets. */
  labelledTokens?(batch: readonly TextWindow[], options: TargetOptions): LabelledTokens;
}

/** The tokens of some texts that the loss counts. */
export interface LabelledTokens {
  /** Their places in each text. */
  readonly places: readonly (readonly number[])[];
  /** Inputs of the loss for the logits of these tokens alone, [tokens, outputs], text by text. */
  readonly feeds: Readonly<Record<string, TensorData>>;
}

/** Every text is an example of its own, so a batch can be split anywhere. */
export interface RowHead extends TaskHead, LossHead {
  readonly kind: 'rows';
  /** Absent or undefined if the head ends in another way, or has further layers that start at random. */
  linearEnd?(encoder: Encoder): LinearEnd | undefined;
  /** Inputs of the loss for these training texts, padded to the longest. */
  targets(batch: readonly TextWindow[], options: TargetOptions): LossTargets;
}

/** Every text is compared with all others of its batch, which therefore can't be split into independent rows. */
export interface PairHead extends TaskHead {
  readonly kind: 'pairs';
  readonly per: 'text';
  /** Which texts make up each example. @throws AbortedError soon after the signal fires */
  examples(options: PairOptions): Promise<PairExamples>;
  /** The loss of a batch as a function of its texts' outputs, `width` numbers each. */
  pairLoss(width: number): PairLoss;
}

interface PairOptions {
  readonly language: string;
  readonly signal: AbortSignal;
}

export interface PairExamples {
  /** Rows of the training texts that make up each example: an anchor, its match, and others that don't match. */
  readonly rows: readonly (readonly number[])[];
  /** Inputs of the loss, in addition to the encoder's outputs, for a batch of these examples, given by index. */
  feeds(batch: readonly number[]): Readonly<Record<string, TensorData>>;
}

/** The loss as a graph of its own, whose only parameters are outputs of the encoder. */
export interface PairLoss {
  readonly graph: Graph;
  /** [anchors, outputs]: the first text of each example, in the order of the batch. */
  readonly anchors: Tensor;
  /** [candidates, outputs]: the other texts of the first example, then those of the second, and so on. */
  readonly candidates: Tensor;
  readonly loss: Tensor;
}

export interface TargetOptions {
  /** Share of a row's target that is spread evenly over all labels (Szegedy et al. 2016), from 0 to below 1. */
  readonly labelSmoothing: number;
  /** Whether labels are weighted so that rare ones count as much as frequent ones. */
  readonly balanced: boolean;
}

export interface LossTargets {
  readonly feeds: Readonly<Record<string, TensorData>>;
  /** What the mean loss is divided by, above 0: the number of rows, or the sum of their weights. */
  readonly weight: number;
}
