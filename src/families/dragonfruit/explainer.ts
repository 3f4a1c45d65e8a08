import type { TextOutputs } from '../../text-reader/index.js';
import {
  type ExplainedAnswer,
  type Explainer,
  shareByWords,
  textWithout,
  type WordSpan,
} from '../explanation.js';
import { splitWords, type Word } from '../words.js';
import { blendedScores, type RetrievalWeights, rankCandidates } from './blend-retrieval.js';
import { type Candidates, findCandidates, type RetrievalExperts } from './candidates.js';

/** A model of passages whose answers are explained. */
export interface ExplainedRetrieval extends RetrievalExperts {
  readonly passages: readonly string[];
  readonly weights: RetrievalWeights;
  /** The most passages of an answer. */
  readonly limit: number;
  /** The vector of what the encoder gave for a question, of unit length. */
  vectorOf(outputs: TextOutputs): Float32Array;
}

/**
 * For each of the best passages, what its blended score, the logit of the softmax over all candidates, loses when a word
 * is left out of the question: BM25's share of it, which is a sum over words, and the cosine's. So a word counts that all
 * candidates have, too. The best BM25 score that shares are of stays that of the whole question.
 */
export function retrievalExplainer(model: ExplainedRetrieval): Explainer {
  const { passages, weights, limit, bm25, vectors } = model;
  return {
    leavesOut: 'removed',
    wordsOf: (text) => splitWords(text, 'punctuation'),
    *explain(text, words, outputs, leftOut) {
      const candidates = findCandidates(text, model.vectorOf(outputs), model);
      const whole = blendedScores(candidates, weights);
      const best = rankCandidates(candidates, weights, limit);
      yield;
      const most = bm25.scores(text).reduce((highest, each) => Math.max(highest, each), 0);
      const lost: { readonly span: WordSpan; readonly scores: Float64Array }[] = [];
      for (const { span, outputs: without } of leftOut) {
        const vector = model.vectorOf(without);
        const written = bm25.scores(textWithout(text, words, span));
        const changed: Candidates = {
          ...candidates,
          cosines: vectors.scoresOf(vector, candidates.passages),
          bm25: Float32Array.from(candidates.passages, (id) => (written[id] ?? 0) / (most || 1)),
        };
        lost.push({ span, scores: blendedScores(changed, weights) });
        yield;
      }
      const explained = best.map(({ id, score }, position): ExplainedAnswer => {
        const own = candidates.passages.indexOf(id);
        const added = lost.map(({ span, scores }) => ({
          span,
          added: (whole[own] ?? 0) - (scores[own] ?? 0),
        }));
        const passage = passages[id] ?? '';
        const matches = matchesIn(passage, (each) => bm25.shares(text, each));
        const explainedWords = weighed(words, shareByWords(words.length, added));
        return { answer: passage, score, position, words: explainedWords, matches };
      });
      return {
        labels: explained.map(({ answer }) => answer),
        scores: explained.map(({ score }) => score),
        explained,
      };
    },
  };
}

function weighed(words: readonly Word[], weights: Float64Array) {
  return words.map(({ text: word, start }, at) => ({ word, start, weight: weights[at] ?? 0 }));
}

function matchesIn(passage: string, isMatch: (words: readonly string[]) => readonly boolean[]) {
  const words = splitWords(passage, 'punctuation');
  const matched = isMatch(words.map(({ text }) => text));
  return words.flatMap(({ text: word, start }, at) => (matched[at] ? [{ word, start }] : []));
}
