import type { FamilyTraining } from '../family.js';
import type { RetrievalDataset } from './retrieval-dataset.js';
import { retrievalTask } from './retrieval-task.js';
import { sentenceTransformersFiles } from './sentence-transformers.js';
import { tokenStates } from './sentence-vector.js';

export const dragonfruitTraining: FamilyTraining<RetrievalDataset> = {
  task: (dataset) => retrievalTask(dataset),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    tensor: tokenStates(graph, encoder, inputs),
  }),
  companions: ({ width }, { orchard }) => sentenceTransformersFiles(width, orchard.max_tokens),
};
