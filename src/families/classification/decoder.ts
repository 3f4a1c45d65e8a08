import { ModelFolderError, ValidationError } from '../../contract/index.js';
import { LinearExpert } from '../../lexical/index.js';
import {
  type BlendWeights,
  CONFIG_FILE,
  type Evidence,
  EXPERT_FILE,
  type ModelFolderConfig,
  ONNX_FILE,
} from '../../models/index.js';
import type { TextOutputs } from '../../text/index.js';
import { type Explainer, type ModelResult, shareByWords, weighedWords } from '../explanation.js';
import type { Decoder, ModelFiles } from '../family.js';
import { flatOutputs, logOddsSlope } from '../softmax.js';
import { splitWords } from '../words.js';
import { blendLogits } from './calibration.js';
import { type ClassificationKind, classificationKind, type Link, linkOf } from './classification-dataset.js';
import { classificationResult, trustIn } from './probabilities.js';

/** Both experts' logits, blended, as a result; the encoder's alone in a folder without a lexical expert. */
export function papayaDecoder({ orchard, problem_type }: ModelFolderConfig, files: ModelFiles): Decoder {
  const { labels, blend, evidence, graph = ONNX_FILE } = orchard;
  const kind = classificationKind(orchard.type);
  requireLabels(labels, kind);
  // Two labels may have two outputs, as transformers has them.
  const link = problem_type === 'single_label_classification' ? 'softmax' : linkOf(kind);
  const file = files.get(EXPERT_FILE);
  const expert = file && LinearExpert.decode(file.bytes, file.file);
  if (expert) requireOutputs(file.file, expert.outputs, labels.length);
  const lexical = expert && blend && { expert, blend };
  const classifier: Classifier = { labels, link, lexical, evidence };
  const decode = (text: string, outputs: TextOutputs) => {
    requireOutputs(graph, outputs[0]?.outputs.length ?? 0, labels.length);
    return classify(classifier, text, outputs).result;
  };
  // Words have places in one text.
  return orchard.parts === 'pair' ? decode : Object.assign(decode, { explainer: classificationExplainer(classifier) });
}

/** The one logit of a binary model would pass for that of a single label. */
function requireLabels({ length }: readonly string[], kind: ClassificationKind): void {
  const least = kind === 'multilabel' ? 1 : 2;
  if (kind === 'binary' ? length === least : length >= least) return;
  const expected = kind === 'binary' ? 'two' : `at least ${least}`;
  throw new ModelFolderError(CONFIG_FILE, `orchard.labels: expected ${expected}, found ${length}`);
}

function requireOutputs(file: string, outputs: number, labels: number): void {
  if (outputs === labels || (outputs === 1 && labels === 2)) return;
  throw new ModelFolderError(file, `it has ${outputs} outputs, but ${CONFIG_FILE} has ${labels} labels`);
}

interface Classifier {
  readonly labels: readonly string[];
  readonly link: Link;
  /** Absent in a folder without a lexical expert: then the encoder answers alone. */
  readonly lexical?: { readonly expert: LinearExpert; readonly blend: BlendWeights } | undefined;
  /** Absent: scores are as the blend gives them. */
  readonly evidence?: Evidence | undefined;
}

interface ClassifiedText {
  readonly result: ModelResult;
  readonly logits: Float32Array;
  readonly encoded: Float32Array;
}

function classify({ labels, link, lexical, evidence }: Classifier, text: string, outputs: TextOutputs): ClassifiedText {
  const encoded = outputs[0]?.outputs ?? new Float32Array();
  const reading = lexical?.expert.read(text);
  const logits = lexical && reading ? blendLogits(lexical.blend, encoded, reading.margins) : encoded;
  if (evidence === undefined || reading === undefined) {
    return { result: classificationResult(logits, labels, link), logits, encoded };
  }
  const result = classificationResult(logits, labels, link, trustIn(evidence, reading.coverage));
  const none_of_these = (result.scores[0] ?? 0) < evidence.none_below;
  return { result: { ...result, none_of_these }, logits, encoded };
}

/**
 * The log-odds of a label as a sum over words. The lexical expert's share is exact: weight · value of each n-gram, shared
 * by the characters it stands on. The encoder's is what its logits lose without the word (occlusion: Zeiler & Fergus
 * 2014, "Visualizing and Understanding Convolutional Networks"; for words Li et al. 2016, "Understanding Neural Networks
 * through Representation Erasure"). Both are weighted as the blend weights them. Log-odds of a softmax are no sum of its
 * logits; they are followed along their slope at this text.
 */
function classificationExplainer(classifier: Classifier): Explainer {
  return {
    leavesOut: 'removed',
    wordsOf: (text) => splitWords(text, 'punctuation'),
    *explain(text, words, outputs, leftOut, { label }) {
      yield;
      const { labels, link, lexical } = classifier;
      const { result, logits, encoded } = classify(classifier, text, outputs);
      const answer = label ?? result.labels[0] ?? '';
      const position = result.labels.indexOf(answer);
      if (position < 0) throw unknownLabel(answer, labels);
      const direction = slopeOf(logits, labels.indexOf(answer), link);
      const along = (values: Float32Array) =>
        values.reduce((sum, value, output) => sum + value * (direction[output] ?? 0), 0);
      const whole = along(encoded);
      const lost = leftOut.map(({ span, outputs: without }) => ({
        span,
        added: whole - along(flatOutputs([without])),
      }));
      const byEncoder = shareByWords(words.length, lost);
      const byCharacters = lexical?.expert.contributions(text, direction);
      const { encoder, expert } = lexical?.blend ?? { encoder: 1, expert: 0 };
      const explained = weighedWords(words, (at) => {
        const { start = 0, text: word = '' } = words[at] ?? {};
        const written = byCharacters?.subarray(start, start + word.length).reduce((sum, each) => sum + each, 0);
        return encoder * (byEncoder[at] ?? 0) + expert * (written ?? 0);
      });
      const score = result.scores[position] ?? 0;
      return { ...result, explained: [{ answer, score, position, words: explained }] };
    },
  };
}

/** How fast the log-odds of a label grow with each logit. [outputs] */
export function slopeOf(logits: Float32Array, label: number, link: Link): Float64Array {
  if (link === 'softmax') return logOddsSlope(logits, label);
  // The one logit of a binary model is its second label's.
  if (logits.length === 1) return Float64Array.of(label === 0 ? -1 : 1);
  return Float64Array.from(logits, (_, output) => (output === label ? 1 : 0));
}

function unknownLabel(label: string, labels: readonly string[]): ValidationError {
  const some = labels.slice(0, MAX_NAMED).join(', ') + (labels.length > MAX_NAMED ? ', …' : '');
  const msg = `the model has no label ${label.slice(0, MAX_CHARACTERS)}; it has ${some}`;
  return new ValidationError([{ loc: ['label'], msg, type: 'unknown_label' }]);
}
const MAX_NAMED = 20;
const MAX_CHARACTERS = 100;
