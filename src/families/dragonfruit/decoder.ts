import type { InferenceResult } from '../../contract/index.js';
import { ModelFolderError } from '../../errors.js';
import { Bm25Index } from '../../lexical/index.js';
import { CONFIG_FILE, type ModelFolderConfig } from '../../model-folder/index.js';
import type { TextOutputs } from '../../text-reader/index.js';
import { VectorIndex } from '../../vector-index/index.js';
import type { Decoder, ModelFile, ModelFiles } from '../family.js';
import { rankCandidates } from './blend-retrieval.js';
import { findCandidates, type RetrievalExperts } from './candidates.js';
import { retrievalExplainer } from './explainer.js';
import { decodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './passage-files.js';
import { meanOfRows, unitVector } from './unit-vector.js';

/** The number of passages in a result (docs/service.md, "Result"). */
const PASSAGES = 10;

/**
 * The passages that both experts together put first. A folder without passages and without a blend is an encoder of texts:
 * its results have no labels, and as scores the elements of the text's vector, of unit length.
 * @throws ModelFolderError
 */
export function dragonfruitDecoder(config: ModelFolderConfig, files: ModelFiles): Decoder {
  const { blend, files: listed } = config.orchard;
  if (blend === undefined && listed.length === 0) return vectorResult;
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

/** The unit vector of a text: the mean of its windows' vectors, by their tokens. */
function vectorResult(_text: string, windows: TextOutputs): InferenceResult {
  const sum = new Float32Array(windows[0]?.outputs.length ?? 0);
  for (const { encoding, outputs } of windows) {
    const tokens = encoding.ids.length;
    for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] ?? 0) + (outputs[at] ?? 0) * tokens;
  }
  return { labels: [], scores: Array.from(unitVector(sum)) };
}

interface OpenedPassages extends RetrievalExperts {
  readonly passages: readonly string[];
}

/**
 * The passages and both experts on them. Ids are positions in all three, so all must have the same length.
 */
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
  throw new ModelFolderError(misfit.file, `it has ${counts}; restore both from the same training`);
}

function fileOf(files: ModelFiles, name: string): ModelFile {
  const file = files.get(name);
  if (file !== undefined) return file;
  throw new ModelFolderError(CONFIG_FILE, `the orchard section does not list the file ${name}`);
}
