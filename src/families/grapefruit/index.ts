import { ModelFolderError } from '../../errors.js';
import { CrfExpert } from '../../lexical/index.js';
import { CONFIG_FILE, EXPERT_FILE } from '../../model-folder/index.js';
import type { Family } from '../family.js';
import { bioConstraints } from './bio-constraints.js';
import { entityTypes } from './bio-tags.js';
import { sequenceModelTypes } from './model-types.js';
import { readSequenceArchive } from './read-archive.js';
import { entityResult, SequenceDecoder, tagEvidence } from './sequence-decoder.js';
import { sequenceTask } from './sequence-task.js';
import { tokenLogits } from './token-head.js';
import { wordOutputs } from './word-pieces.js';
import { splitWords } from './words.js';

/** Sequence labelling: finds entities and their exact places. */
export const grapefruit: Family = {
  name: 'Grapefruit',
  types: sequenceModelTypes,
  tier: 'basic',
  durations: {
    scratch: { rows: 60_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  },
  metrics: ['f1'],
  warningKinds: [
    'duplicate_row',
    'conflicting_labels',
    'train_row_in_dev',
    'class_without_examples',
    'empty_sentence',
    'inside_without_begin',
  ],
  answerView: 'entities',
  longTexts: 'windows',
  marksCapitals: true,
  classNames: ({ orchard }) => ({ noun: 'entity type', names: entityTypes(orchard.labels) }),
  readArchive: (directory, type) => sequenceTask(readSequenceArchive(directory, type)),
  exportedOutputs: (graph, encoder, inputs, { orchard }) => ({
    name: 'logits',
    tensor: graph.transpose(tokenLogits(graph, encoder, inputs, orchard.labels.length), [1, 0, 2]),
  }),
  decoder({ orchard }, files) {
    const { labels: tags, words: splitting = 'whitespace', blend, lowercase } = orchard;
    const file = files.get(EXPERT_FILE);
    if (file === undefined || blend === undefined) {
      throw new ModelFolderError(CONFIG_FILE, 'the orchard section names no lexical expert, or has no blend');
    }
    const expert = CrfExpert.decode(file.bytes, file.file);
    const decoder = new SequenceDecoder(tags, bioConstraints(tags), expert.transitions, blend);
    return (text, outputs) => {
      const words = splitWords(text, splitting);
      const logits = wordOutputs(outputs, words, tags.length);
      const entities = decoder.entities(tagEvidence(words, logits, tags.length, expert, lowercase));
      return entityResult(text, words, entities);
    };
  },
};
