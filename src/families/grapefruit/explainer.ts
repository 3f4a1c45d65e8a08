import type { CrfExpert } from '../../lexical/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import { type Explainer, logOdds, shareByWords, type WordSpan } from '../explanation.js';
import { splitWords, type Word, type WordSplitting } from '../words.js';
import { entityResult, type SequenceDecoder, tagEvidenceInSteps } from './sequence-decoder.js';
import { wordOutputs } from './word-pieces.js';

/** Stands for a word that nobody has seen. */
const UNSEEN = '\uFFFD';

/** A model of entities whose answers are explained. */
export interface ExplainedTagger {
  readonly tags: number;
  readonly splitting: WordSplitting;
  readonly lowercase: boolean;
  readonly expert: CrfExpert;
  readonly decoder: SequenceDecoder;
}

/**
 * For each entity, what its log-odds lose when a word is unknown to both experts: the encoder reads a mask, and the
 * lexical expert a word that it has never seen. The words of the entity itself are among them.
 */
export function entityExplainer(tagger: ExplainedTagger): Explainer {
  const { tags, expert, lowercase, decoder } = tagger;
  const evidenceOf = (words: readonly Word[], places: readonly Word[], outputs: TextOutputs) =>
    tagEvidenceInSteps(words, wordOutputs(outputs, places, tags), tags, expert, lowercase);
  return {
    leavesOut: 'masked',
    wordsOf: (text) => splitWords(text, tagger.splitting),
    *explain(text, words, outputs, leftOut) {
      yield;
      const entities = yield* decoder.entitiesInSteps(yield* evidenceOf(words, words, outputs));
      const lost: { readonly span: WordSpan; readonly scores: readonly number[] }[] = [];
      for (const { span, outputs: without } of entities.length === 0 ? [] : leftOut) {
        const evidence = yield* evidenceOf(withUnseen(words, span), words, without);
        lost.push({ span, scores: decoder.scored(evidence, entities).map(({ score }) => score) });
        yield;
      }
      const result = entityResult(text, words, entities);
      const explained = entities.map(({ type, score }, position) => {
        const added = lost.map(({ span, scores }) => ({
          span,
          added: logOdds(score) - logOdds(scores[position] ?? 0),
        }));
        const weights = shareByWords(words.length, added);
        const explainedWords = words.map(({ text: word, start }, at) => ({
          word,
          start,
          weight: weights[at] ?? 0,
        }));
        return { answer: type, score, position, words: explainedWords };
      });
      return { ...result, explained };
    },
  };
}

function withUnseen(words: readonly Word[], { first, end }: WordSpan): Word[] {
  return words.map((word, at) => (at >= first && at < end ? { ...word, text: UNSEEN } : word));
}
