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

/** The number of passages in a result (docs/service.md, "Result"). */
const PASSAGES = 10;

/** Question answering: finds the passages that answer a question best. */
export const dragonfruit: Family = {
  name: 'Dragonfruit',
  types: [
    {
      name: 'question-answering',
      mainMetric: undefined,
      card: {
        does: 'answers a question with the passages that fit it best',
        pipeline: 'sentence-similarity',
        usage:
          'With sentence-transformers, the encoder alone: `SentenceTransformer("<this folder>").encode(["A text."])`.',
      },
    },
  ],
  tier: 'pro',
  // A row costs more here: each question is trained with two passages, and each epoch ends with reading all.
  durations: {
    scratch: { rows: 15_000, minEpochs: 2, maxEpochs: 5 },
    backbone: { rows: 10_000, minEpochs: 1, maxEpochs: 5 },
  },
  metrics: ['topk'],
  warningKinds: ['duplicate_row', 'train_row_in_dev', 'passage_without_question', 'unknown_field'],
  answerView: 'passages',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: () => ({ noun: 'label', names: [] }),
  readArchive: (directory) => retrievalTask(readRetrievalArchive(directory)),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    tensor: tokenStates(graph, encoder, inputs),
  }),
  companions: ({ hidden_size }, { orchard }) => sentenceTransformersFiles(hidden_size, orchard.max_tokens),
  decoder({ orchard: { blend } }, files) {
    if (blend === undefined) throw new ModelFolderError(CONFIG_FILE, 'the orchard section has no blend');
    const weights = { vector: blend.encoder, bm25: blend.expert };
    const { passages, vectors, bm25 } = openPassages(files);
    return (text, [window]): InferenceResult => {
      const states = window?.outputs ?? new Float32Array();
      const vector = unitVector(meanOfRows(states, window?.encoding.ids.length ?? 0, vectors.width));
      const ranked = rankCandidates(findCandidates(text, vector, { vectors, bm25 }), weights);
      const best = ranked.slice(0, PASSAGES);
      return { labels: best.map(({ id }) => passages[id] ?? ''), scores: best.map(({ score }) => score) };
    };
  },
};

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
