import type { FamilyTraining } from '../family.js';
import type { SequenceDataset } from './sequence-dataset.js';
import { sequenceTask } from './sequence-task.js';
import { tokenLogits } from './token-head.js';

export const grapefruitTraining: FamilyTraining<SequenceDataset> = {
  task: sequenceTask,
  exportedOutputs: (graph, encoder, inputs, { orchard }) => ({
    name: 'logits',
    tensor: graph.transpose(tokenLogits(graph, encoder, inputs, orchard.labels.length), [1, 0, 2]),
  }),
};
