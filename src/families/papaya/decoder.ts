import { ModelFolderError } from '../../errors.js';
import { LinearExpert } from '../../lexical/index.js';
import { CONFIG_FILE, EXPERT_FILE, type ModelFolderConfig, ONNX_FILE } from '../../model-folder/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type { Decoder, ModelFiles } from '../family.js';
import { classificationKind } from './classification-dataset.js';
import { type Classifier, classify } from './classifier.js';
import { classificationExplainer } from './explainer.js';
import { linkOf } from './link.js';

/** Both experts' logits, blended, as a result; the encoder's alone in a folder without a lexical expert. */
export function papayaDecoder({ orchard }: ModelFolderConfig, files: ModelFiles): Decoder {
  const { labels, blend, evidence, graph = ONNX_FILE } = orchard;
  const link = linkOf(classificationKind(orchard.type));
  const file = files.get(EXPERT_FILE);
  const expert = file && LinearExpert.decode(file.bytes, file.file);
  if (expert) requireOutputs(file.file, expert.outputs, labels.length);
  const lexical = expert && blend && { expert, blend };
  const classifier: Classifier = { labels, link, lexical, evidence };
  const decode = (text: string, outputs: TextOutputs) => {
    requireOutputs(graph, outputs[0]?.outputs.length ?? 0, labels.length);
    return classify(classifier, text, outputs).result;
  };
  return Object.assign(decode, { explainer: classificationExplainer(classifier) });
}

/** A binary model has one output for its two labels. @throws ModelFolderError */
function requireOutputs(file: string, outputs: number, labels: number): void {
  if (outputs === labels || (outputs === 1 && labels === 2)) return;
  throw new ModelFolderError(file, `it has ${outputs} outputs, but ${CONFIG_FILE} has ${labels} labels`);
}
