/** Defaults of a training that starts from a backbone; see docs/backbones.md. */
import type { FamilyName } from '../contract/index.js';
import type { BertConfig } from '../encoder/index.js';
import type { Duration } from './duration.js';

/** A pretrained encoder knows the language and needs to read a dataset less often. */
export const backboneDurations: Readonly<Record<FamilyName, Duration>> = {
  Papaya: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  Grapefruit: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  Dragonfruit: { rows: 10_000, minEpochs: 1, maxEpochs: 5 },
};

/** Peak learning rates by the width of the encoder: the wider it is, the less it bears. */
const learningRates: readonly { readonly upToHidden: number; readonly rate: number }[] = [
  { upToHidden: 384, rate: 3e-4 },
  { upToHidden: 512, rate: 1e-4 },
  { upToHidden: 768, rate: 5e-5 }, // Devlin et al. 2019, A.3
];
/** Of encoders wider than those. */
const WIDEST_RATE = 2e-5;

/** A backbone has its own geometry, so the size that was asked for decides nothing. */
export function backboneLearningRate({ hidden_size }: Pick<BertConfig, 'hidden_size'>): number {
  return learningRates.find(({ upToHidden }) => hidden_size <= upToHidden)?.rate ?? WIDEST_RATE;
}
