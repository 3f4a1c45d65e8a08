import type { LinearExpert } from '../../lexical/index.js';
import type { BlendWeights, Evidence } from '../../model-folder/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import type { ModelResult } from '../explanation.js';
import { flatOutputs } from '../text-outputs.js';
import { blendLogits } from './blend-weights.js';
import { classificationResult } from './classification-decoder.js';
import { trustIn } from './evidence.js';
import type { Link } from './link.js';

/** A trained classifier, as it answers. */
export interface Classifier {
  readonly labels: readonly string[];
  readonly link: Link;
  /** Absent in a folder without a lexical expert: then the encoder answers alone. */
  readonly lexical?: { readonly expert: LinearExpert; readonly blend: BlendWeights } | undefined;
  /** Absent in folders of earlier releases: then scores are as the blend gives them. */
  readonly evidence?: Evidence | undefined;
}

/** An answer, and the logits that it is made of. */
export interface ClassifiedText {
  readonly result: ModelResult;
  /** Of the blend. [outputs] */
  readonly logits: Float32Array;
  /** Of the encoder alone. [outputs] */
  readonly encoded: Float32Array;
}

/** Answers one text. @param outputs of the encoder. */
export function classify(
  { labels, link, lexical, evidence }: Classifier,
  text: string,
  outputs: TextOutputs,
): ClassifiedText {
  const encoded = flatOutputs([outputs]);
  if (lexical === undefined) {
    return { result: classificationResult(encoded, labels, link), logits: encoded, encoded };
  }
  const { margins, coverage } = lexical.expert.read(text);
  const logits = blendLogits(lexical.blend, encoded, margins);
  if (evidence === undefined) {
    return { result: classificationResult(logits, labels, link), logits, encoded };
  }
  const result = classificationResult(logits, labels, link, trustIn(evidence, coverage));
  const none_of_these = (result.scores[0] ?? 0) < evidence.none_below;
  return { result: { ...result, none_of_these }, logits, encoded };
}
