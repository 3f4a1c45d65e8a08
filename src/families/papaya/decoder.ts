import { ModelFolderError } from '../../errors.js';
import { LinearExpert } from '../../lexical/index.js';
import { CONFIG_FILE, EXPERT_FILE, type ModelFolderConfig, ONNX_FILE } from '../../model-folder/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type { Decoder, ModelFiles } from '../family.js';
import { flatOutputs } from '../text-outputs.js';
import { blendLogits } from './blend-weights.js';
import { classificationKind } from './classification-dataset.js';
import { classificationResult } from './classification-decoder.js';
import { classificationExplainer } from './explainer.js';
import { linkOf } from './link.js';

/** Both experts' logits, blended, as a result; the encoder's alone in a folder without a lexical expert. */
export function papayaDecoder({ orchard }: ModelFolderConfig, files: ModelFiles): Decoder {
  const link = linkOf(classificationKind(orchard.type));
  const { labels, blend } = orchard;
  const expert = files.get(EXPERT_FILE);
  if (expert === undefined || blend === undefined) {
    const decode = (_: string, texts: TextOutputs) => {
      const encoded = flatOutputs([texts]);
      requireOutputs(orchard.graph ?? ONNX_FILE, encoded.length, labels.length);
      return classificationResult(encoded, labels, link);
    };
    return Object.assign(decode, { explainer: classificationExplainer({ labels, link }) });
  }
  const linear = LinearExpert.decode(expert.bytes, expert.file);
  requireOutputs(expert.file, linear.outputs, labels.length);
  const decode = (text: string, outputs: TextOutputs) => {
    const encoded = flatOutputs([outputs]);
    requireOutputs(orchard.graph ?? ONNX_FILE, encoded.length, labels.length);
    return classificationResult(blendLogits(blend, encoded, linear.margins(text)), labels, link);
  };
  const lexical = { expert: linear, blend };
  return Object.assign(decode, { explainer: classificationExplainer({ labels, link, lexical }) });
}

/** A binary model has one output for its two labels. @throws ModelFolderError */
function requireOutputs(file: string, outputs: number, labels: number): void {
  if (outputs === labels || (outputs === 1 && labels === 2)) return;
  throw new ModelFolderError(file, `it has ${outputs} outputs, but ${CONFIG_FILE} has ${labels} labels`);
}
