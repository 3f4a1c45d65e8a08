import { ValidationError } from '../../errors.js';
import type { TextOutputs } from '../../text-reader/index.js';
import { type Explainer, type Explanation, type LeftOut, shareByWords } from '../explanation.js';
import { logOddsSlope } from '../softmax.js';
import { flatOutputs } from '../text-outputs.js';
import { splitWords, type Word } from '../words.js';
import { type Classifier, classify } from './classifier.js';
import type { Link } from './link.js';

/**
 * The log-odds of a label as a sum over words. The lexical expert's share is exact: weight · value of each n-gram, shared
 * by the characters it stands on. The encoder's is what its logits lose without the word (occlusion: Zeiler & Fergus
 * 2014, "Visualizing and Understanding Convolutional Networks"; for words Li et al. 2016, "Understanding Neural Networks
 * through Representation Erasure"). Both are weighted as the blend weights them. Log-odds of a softmax are no sum of its
 * logits; they are followed along their slope at this text.
 */
export function classificationExplainer(classifier: Classifier): Explainer {
  return {
    leavesOut: 'removed',
    wordsOf: (text) => splitWords(text, 'punctuation'),
    *explain(text, words, outputs, leftOut, { label }) {
      yield;
      return explain(classifier, { text, words, outputs, leftOut }, label);
    },
  };
}

interface Question {
  readonly text: string;
  readonly words: readonly Word[];
  readonly outputs: TextOutputs;
  readonly leftOut: readonly LeftOut[];
}

function explain(
  classifier: Classifier,
  { text, words, outputs, leftOut }: Question,
  label: string | undefined,
): Explanation {
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
  const explained = words.map(({ text: word, start }, at) => {
    const written = byCharacters?.subarray(start, start + word.length).reduce((sum, each) => sum + each, 0);
    return { word, start, weight: encoder * (byEncoder[at] ?? 0) + expert * (written ?? 0) };
  });
  const score = result.scores[position] ?? 0;
  return { ...result, explained: [{ answer, score, position, words: explained }] };
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
