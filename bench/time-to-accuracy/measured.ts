import type { TrainingConfig } from 'orchard-nlp';

/** What one training run came to. */
export interface Measured {
  /** Label id of each test text; -1 for none. */
  readonly predicted: readonly number[];
  /** Of training, by the clock and of all processors. */
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly versions: string;
  /** What was chosen, for the table. */
  readonly settings: string;
}

export interface MeasureOptions {
  readonly threads: number;
  readonly seed: number;
  readonly python: string;
  /** Settings in place of Orchard's defaults; Hugging Face's Trainer takes the same. */
  readonly training: Pick<TrainingConfig, 'num_epochs' | 'batch_size' | 'learning_rate'>;
  /** Pairs that SetFit makes of each text. */
  readonly pairs: number;
}
