import type { Adapters, AdapterTarget } from '../engine/index.js';
import type { Hyperparameters, Tuning } from './hyperparameters.js';

/** Low-rank adapters: a layer's W becomes W + (alpha / rank)·B·A, of which A and B learn. */
export interface AdapterTuning {
  /** Rows of A and columns of B, at least 1. Default 8. */
  readonly rank?: number;
  /** Above 0. Default: the rank. */
  readonly alpha?: number;
  /**
   * The linear layers of the encoder that have adapters: the three that attention reads, the one that it ends with, and
   * the two of the feed-forward block. Default query and value.
   */
  readonly targets?: readonly AdapterTarget[];
  /** Probability of dropout on what A reads, at least 0 and below 1. Default 0. */
  readonly dropout?: number;
}

/** Rank and targets of RoBERTa's adapters: Hu et al. 2021, table 9. */
const ADAPTER_RANK = 8;
const ADAPTER_TARGETS: readonly AdapterTarget[] = ['query', 'value'];
/**
 * How many times the learning rate of the whole backbone adapters have: low-rank matrices want ten times as much and more
 * (Biderman et al. 2024, "LoRA Learns Less and Forgets Less"). Measured on three backbones: docs/training.md.
 */
const ADAPTER_RATE_FACTOR = 20;

/** The adapters, with the defaults filled in. */
export function adaptersOf({ adapters, freeze }: Tuning): Adapters | undefined {
  if (adapters === undefined) return undefined;
  const { rank = ADAPTER_RANK, alpha = rank, targets = ADAPTER_TARGETS, dropout = 0 } = adapters;
  return { rank, alpha, targets, dropout, lowest: typeof freeze === 'number' ? freeze : 0 };
}

/** The default learning rate. @param backboneRate that of the whole backbone; undefined if there is none. */
export function tunedRate({ adapters }: Tuning, backboneRate: number | undefined): number | undefined {
  return adapters && backboneRate ? ADAPTER_RATE_FACTOR * backboneRate : backboneRate;
}

/** What the training record says of adapters and of frozen weights. */
export function tunedParts(tuning: Tuning): Partial<Hyperparameters> {
  const adapters = adaptersOf(tuning);
  const { freeze } = tuning;
  if (adapters === undefined) {
    if (freeze === undefined) return {};
    return { frozen: freeze === 'embeddings' ? freeze : `embeddings and layers: ${freeze}` };
  }
  return {
    frozen: 'the backbone',
    adapterRank: adapters.rank,
    adapterAlpha: adapters.alpha,
    adapterTargets: adapters.targets.join(', '),
    adapterDropout: adapters.dropout,
  };
}
