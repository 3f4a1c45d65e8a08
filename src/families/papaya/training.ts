import type { Pooling } from '../../encoder/index.js';
import type { FamilyTraining } from '../family.js';
import { classifierLogits } from './classification-head.js';
import { classificationTask } from './classification-task.js';
import { readClassificationArchive } from './read-archive.js';
import { transformersClass, transformersFiles, transformersGuards } from './transformers-class.js';

/** How new Papaya models pool; see docs/decisions.md for the measurement. */
const POOLING: Pooling = 'mean';

export const papayaTraining: FamilyTraining = {
  readArchive: async (directory, type, signal) =>
    classificationTask(await readClassificationArchive(directory, type, signal), POOLING),
  exportedOutputs: (graph, encoder, inputs, { id2label, orchard }) => ({
    name: 'logits',
    tensor: classifierLogits(graph, encoder, inputs, {
      outputs: Object.keys(id2label).length,
      pooling: orchard.pooling === 'first' ? 'first' : 'mean',
    }),
  }),
  transformersClass,
  companions: transformersFiles,
  companionTensors: transformersGuards,
};
