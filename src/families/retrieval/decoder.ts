import { type InferenceResult, ModelFolderError } from '../../contract/index.js';
import { Bm25Index } from '../../lexical/index.js';
import { CONFIG_FILE, type ModelFolderConfig } from '../../models/index.js';
import type { TextOutputs } from '../../text/index.js';
import {
  type ExplainedAnswer,
  type Explainer,
  refuseLabel,
  shareByWords,
  textWithout,
  type WordSpan,
  weighedWords,
} from '../explanation.js';
import type { Decoder, ModelFile, ModelFiles } from '../family.js';
import { splitWords } from '../words.js';
import { blendedScores, type RetrievalWeights, rankCandidates } from './calibration.js';
import {
  type Candidates,
  decodePassages,
  findCandidates,
  PASSAGES_FILE,
  POSTINGS_FILE,
  type RetrievalExperts,
  VECTORS_FILE,
} from './passages.js';
import { pairDecoder, sentenceDecoder } from './sentence-vector.js';
import { meanOfRows, unitVector, VectorIndex } from './vector-index.js';

const PASSAGES = 10;

/**
 * An encoder of sentences and a cross-encoder have no passages: their results have no labels, and the elements of the
 * text's vector or the pair's number as scores. @throws ModelFolderError
 */
export function dragonfruitDecoder(config: ModelFolderConfig, files: ModelFiles): Decoder {
  const { blend, sentence, pairs } = config.orchard;
  if (pairs !== undefined) return pairDecoder(pairs);
  if (sentence !== undefined) return sentenceDecoder(sentence, files);
  if (blend === undefined) throw new ModelFolderError(CONFIG_FILE, 'the orchard section has no blend');
  const weights = { vector: blend.encoder, bm25: blend.expert };
  const { passages, vectors, bm25 } = openPassages(files);
  if (typeof config.hidden_size === 'number' && config.hidden_size !== vectors.width) {
    const reason = `its vectors have ${vectors.width} elements, but ${CONFIG_FILE} has a hidden_size of ${config.hidden_size}`;
    throw new ModelFolderError(fileOf(files, VECTORS_FILE).file, reason);
  }
  const vectorOf = ([window]: TextOutputs) => {
    const states = window?.outputs ?? new Float32Array();
    return unitVector(meanOfRows(states, window?.encoding.ids.length ?? 0, vectors.width));
  };
  const decode = (text: string, outputs: TextOutputs): InferenceResult => {
    const candidates = findCandidates(text, vectorOf(outputs), { vectors, bm25 });
    const best = rankCandidates(candidates, weights, PASSAGES);
    return { labels: best.map(({ id }) => passages[id] ?? ''), scores: best.map(({ score }) => score) };
  };
  const explainer = retrievalExplainer({ passages, vectors, bm25, weights, limit: PASSAGES, vectorOf });
  return Object.assign(decode, { explainer });
}

interface OpenedPassages extends RetrievalExperts {
  readonly passages: readonly string[];
}

/** The passages and both experts on them. Ids are positions in all three, so all must have the same length. */
function openPassages(files: ModelFiles): OpenedPassages {
  const passages = decodePassages(fileOf(files, PASSAGES_FILE));
  const vectorFile = fileOf(files, VECTORS_FILE);
  const vectors = VectorIndex.decode(vectorFile.bytes, vectorFile.file);
  const postingsFile = fileOf(files, POSTINGS_FILE);
  const bm25 = Bm25Index.decode(postingsFile.bytes, postingsFile.file);
  const misfit = [
    { file: vectorFile.file, size: vectors.size },
    { file: postingsFile.file, size: bm25.size },
  ].find(({ size }) => size !== passages.length);
  if (misfit === undefined) return { passages, vectors, bm25 };
  const counts = `${misfit.size} passages, but ${PASSAGES_FILE} has ${passages.length}`;
  throw new ModelFolderError(misfit.file, `it has ${counts}; restore both from the same training run`);
}

function fileOf(files: ModelFiles, name: string): ModelFile {
  const file = files.get(name);
  if (file !== undefined) return file;
  throw new ModelFolderError(CONFIG_FILE, `the orchard section does not list the file ${name}`);
}

interface ExplainedRetrieval extends RetrievalExperts {
  readonly passages: readonly string[];
  readonly weights: RetrievalWeights;
  readonly limit: number;
  /** The vector of what the encoder gave for a question, of unit length. */
  vectorOf(outputs: TextOutputs): Float32Array;
}

/**
 * For each of the best passages, what its blended score loses when a word is left out of the question: BM25's share of
 * it and the cosine's. So a word counts that all candidates have, too.
 */
function retrievalExplainer(model: ExplainedRetrieval): Explainer {
  const { passages, weights, limit, bm25, vectors } = model;
  return {
    leavesOut: 'removed',
    wordsOf: (text) => splitWords(text, 'punctuation'),
    *explain(text, words, outputs, leftOut, { label }) {
      refuseLabel(label);
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
        const weights = shareByWords(words.length, added);
        const explainedWords = weighedWords(words, (each) => weights[each] ?? 0);
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

function matchesIn(passage: string, isMatch: (words: readonly string[]) => readonly boolean[]) {
  const words = splitWords(passage, 'punctuation');
  const matched = isMatch(words.map(({ text }) => text));
  return words.flatMap(({ text: word, start }, at) => (matched[at] ? [{ word, start }] : []));
}
