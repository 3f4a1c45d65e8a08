import { LinearExpert } from '../../lexical/index.js';
import { EXPERT_FILE, type ModelFolderConfig } from '../../model-folder/index.js';
import type { Decoder, ModelFiles } from '../family.js';
import { flatOutputs } from '../text-outputs.js';
import { blendLogits } from './blend-weights.js';
import { classificationKind } from './classification-dataset.js';
import { classificationResult } from './classification-decoder.js';
import { linkOf } from './link.js';

/** Both experts' logits, blended, as a result; the encoder's alone in a folder without a lexical expert. */
export function papayaDecoder({ orchard }: ModelFolderConfig, files: ModelFiles): Decoder {
  const link = linkOf(classificationKind(orchard.type));
  const { labels, blend } = orchard;
  const expert = files.get(EXPERT_FILE);
  if (expert === undefined || blend === undefined) {
    return (_, texts) => classificationResult(flatOutputs([texts]), labels, link);
  }
  const linear = LinearExpert.decode(expert.bytes, expert.file);
  return (text, outputs) => {
    const logits = blendLogits(blend, flatOutputs([outputs]), linear.margins(text));
    return classificationResult(logits, labels, link);
  };
}
