import type { FamilyTraining } from '../family.js';
import { readSequenceArchive } from './read-archive.js';
import { sequenceTask } from './sequence-task.js';
import { tokenLogits } from './token-head.js';

export const grapefruitTraining: FamilyTraining = {
  readArchive: async (directory, type, signal) =>
    sequenceTask(await readSequenceArchive(directory, type, signal)),
  exportedOutputs: (graph, encoder, inputs, { orchard }) => ({
    name: 'logits',
    tensor: graph.transpose(tokenLogits(graph, encoder, inputs, orchard.labels.length), [1, 0, 2]),
  }),
};
