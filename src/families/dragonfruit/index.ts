import { err, ok, Result } from 'neverthrow';
import type { InferenceResult } from '../../contract/index.js';
import { ModelFolderError } from '../../errors.js';
import { Bm25Index } from '../../lexical/index.js';
import { CONFIG_FILE } from '../../model-folder/index.js';
import { VectorIndex } from '../../vector-index/index.js';
import type { Family, ModelFile, ModelFiles } from '../family.js';
import { rankCandidates } from './blend-retrieval.js';
import { findCandidates, type RetrievalExperts } from './candidates.js';
import { decodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './passage-files.js';
import { readRetrievalArchive } from './read-archive.js';
import { retrievalTask } from './retrieval-task.js';
import { sentenceTransformersFiles } from './sentence-transformers.js';
import { meanOfRows, tokenStates, unitVector } from './sentence-vector.js';

/** Passages of a result, as documented. */
const PASSAGES = 10;

/** Question answering: the passages that answer a question best. */
export const dragonfruit: Family = {
  name: 'Dragonfruit',
  longTexts: 'truncate',
  marksCapitals: false,
  readArchive: (directory) => readRetrievalArchive(directory).map(retrievalTask),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    tensor: tokenStates(graph, encoder, inputs),
  }),
  companions: ({ hidden_size }, { orchard }) => sentenceTransformersFiles(hidden_size, orchard.max_tokens),
  decoder({ orchard: { blend } }, files) {
    if (blend === undefined) {
      return err(new ModelFolderError(CONFIG_FILE, 'the orchard section has no blend'));
    }
    const weights = { vector: blend.encoder, bm25: blend.expert };
    return openPassages(files).map(({ passages, vectors, bm25 }) => (text, [window]): InferenceResult => {
      const states = window?.outputs ?? new Float32Array();
      const vector = unitVector(meanOfRows(states, window?.encoding.ids.length ?? 0, vectors.width));
      const ranked = rankCandidates(findCandidates(text, vector, { vectors, bm25 }), weights);
      const best = ranked.slice(0, PASSAGES);
      return { labels: best.map(({ id }) => passages[id] ?? ''), scores: best.map(({ score }) => score) };
    });
  },
};

interface OpenedPassages extends RetrievalExperts {
  readonly passages: readonly string[];
}

/** The passages and what both experts know of them. They number passages alike, so all must have as many. */
function openPassages(files: ModelFiles): Result<OpenedPassages, ModelFolderError> {
  const opened = Result.combine([
    fileOf(files, PASSAGES_FILE).andThen(decodePassages),
    fileOf(files, VECTORS_FILE).andThen(({ bytes, file }) => VectorIndex.decode(bytes, file)),
    fileOf(files, POSTINGS_FILE).andThen(({ bytes, file }) => Bm25Index.decode(bytes, file)),
  ]);
  return opened.andThen(([passages, vectors, bm25]) => {
    const misfit = [
      { name: VECTORS_FILE, size: vectors.size },
      { name: POSTINGS_FILE, size: bm25.size },
    ].find(({ size }) => size !== passages.length);
    if (misfit === undefined) return ok({ passages, vectors, bm25 });
    const file = files.get(misfit.name)?.file ?? misfit.name;
    const counts = `${misfit.size} passages, but ${PASSAGES_FILE} has ${passages.length}`;
    return err(new ModelFolderError(file, `it is of ${counts}; restore both from one training`));
  });
}

function fileOf(files: ModelFiles, name: string): Result<ModelFile, ModelFolderError> {
  const file = files.get(name);
  return file === undefined
    ? err(new ModelFolderError(CONFIG_FILE, `the orchard section does not list the file ${name}`))
    : ok(file);
}
