import type { Pooling } from '../../encoder/index.js';
import { LinearExpert } from '../../lexical/index.js';
import { EXPERT_FILE } from '../../model-folder/index.js';
import type { Family } from '../family.js';
import { flatOutputs } from '../text-outputs.js';
import { blendLogits } from './blend-weights.js';
import { classificationKind } from './classification-dataset.js';
import { classificationResult } from './classification-decoder.js';
import { classifierLogits } from './classification-head.js';
import { classificationTask, linkOf } from './classification-task.js';
import { classificationModelTypes } from './model-types.js';
import { readClassificationArchive } from './read-archive.js';

export { type ClassificationType, classificationTypes } from './classification-dataset.js';
export type { RowSource, SourceFile, SourceRow } from './source-rows.js';
export {
  type ClassificationArchiveOptions,
  type ClassificationArchiveSummary,
  createClassificationArchive,
} from './write-archive.js';

/** How new Papaya models pool; see docs/decisions.md for the measurement. */
const POOLING: Pooling = 'mean';

/** Text classification: binary, multiclass and multilabel. */
export const papaya: Family = {
  name: 'Papaya',
  types: classificationModelTypes,
  tier: 'basic',
  durations: {
    scratch: { rows: 40_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  },
  metrics: ['accuracy', 'f1'],
  warningKinds: ['duplicate_row', 'conflicting_labels', 'train_row_in_dev', 'class_without_examples'],
  answerView: 'labels',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: ({ orchard }) => ({ noun: 'label', names: orchard.labels }),
  readArchive: (directory, type) => classificationTask(readClassificationArchive(directory, type), POOLING),
  exportedOutputs: (graph, encoder, inputs, { id2label, orchard }) => ({
    name: 'logits',
    tensor: classifierLogits(graph, encoder, inputs, {
      outputs: Object.keys(id2label).length,
      pooling: orchard.pooling === 'first' ? 'first' : 'mean',
    }),
  }),
  decoder({ orchard }, files) {
    const link = linkOf(classificationKind(orchard.type));
    const { labels, blend } = orchard;
    const expert = files.get(EXPERT_FILE);
    if (expert === undefined || blend === undefined) {
      return (_, texts) => classificationResult(flatOutputs([texts]), labels, link);
    }
    const linear = LinearExpert.decode(expert.bytes, expert.file);
    return (text, outputs) => {
      const logits = blendLogits(blend, flatOutputs([outputs]), linear.margins(text));
      return classificationResult(logits, labels, link);
    };
  },
};
