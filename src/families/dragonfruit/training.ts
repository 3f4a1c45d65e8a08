import type { FamilyTraining } from '../family.js';
import { readRetrievalArchive } from './read-archive.js';
import { retrievalTask } from './retrieval-task.js';
import { sentenceTransformersFiles } from './sentence-transformers.js';
import { tokenStates } from './sentence-vector.js';

export const dragonfruitTraining: FamilyTraining = {
  readArchive: async (directory, _type, signal) =>
    retrievalTask(await readRetrievalArchive(directory, signal)),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    tensor: tokenStates(graph, encoder, inputs),
  }),
  companions: ({ width }, { orchard }) => sentenceTransformersFiles(width, orchard.max_tokens),
};
