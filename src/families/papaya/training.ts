import type { Pooling } from '../../encoder/index.js';
import type { FamilyTraining } from '../family.js';
import type { ClassificationDataset } from './classification-dataset.js';
import { classifierLogits } from './classification-head.js';
import { classificationTask } from './classification-task.js';
import { transformersClass, transformersFiles, transformersGuards } from './transformers-class.js';

/** How new Papaya models pool; see docs/decisions.md for the measurement. */
const POOLING: Pooling = 'mean';

export const papayaTraining: FamilyTraining<ClassificationDataset> = {
  task: (dataset) => classificationTask(dataset, POOLING),
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
