import type { ModelType, Topk } from '../../contract/index.js';
import type { DatasetWarning } from '../../datasets/index.js';
import type { RecordedPart } from '../../models/index.js';
import type { Evaluation } from '../evaluate.js';

/** What encoder and lexical expert reach on dev, each alone and both together. */
export interface SummaryParts {
  readonly encoder: RecordedPart;
  readonly expert: RecordedPart;
  readonly blend: RecordedPart;
}

/** How a model was trained, and how good it is. */
export interface TrainingSummary {
  readonly type: ModelType;
  /** Whether the type was given, or found in the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why this type, in words. */
  readonly reason: string;
  /** Rows that it learned from. */
  readonly train: number;
  /** Rows that chose the best epoch, and that the figures below are measured on. */
  readonly dev: number;
  /** Classification: the share of dev rows that are right, 0 to 1. */
  readonly accuracy?: number;
  /** Classification and entities, on dev, 0 to 1. */
  readonly f1?: number;
  /** Questions: the share of dev questions whose passage is among the first 1, 3, 5, 10, 20 and 100. */
  readonly topk?: Topk;
  /** What its two experts reach. */
  readonly parts?: SummaryParts;
  /** What was noticed in the data, or while training. */
  readonly warnings: readonly DatasetWarning[];
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** How it does on the examples that were given as `test`. */
  readonly test?: Evaluation;
}
