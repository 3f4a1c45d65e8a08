import { fileURLToPath } from 'node:url';
import {
  classificationTypes,
  type InferenceResult,
  type ModelConfig,
  type ModelType,
  sequenceTypes,
} from 'orchard-nlp';
import { printEntities } from './print-entities.js';
import { printLabels } from './print-labels.js';
import { printPassages } from './print-passages.js';

/** What the demo trains and how it shows the answers. */
export interface DemoTask {
  /** Of the bundled dataset. */
  readonly folder: string;
  readonly model: Omit<ModelConfig, 'name'>;
  /** As many as fit into a minute. Default: the library's. */
  readonly epochs?: number;
  /** The metric that compares the two experts. */
  readonly metric: 'accuracy' | 'f1' | 'top-1';
  /** What the lexical expert is. */
  readonly expert: string;
  /** To ask the model trained on the bundled dataset. */
  readonly samples: readonly string[];
  /** What to type. */
  readonly ask: string;
  print(query: string, result: InferenceResult): void;
}

const folder = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

export const tasks: Readonly<Record<'reviews' | 'entities' | 'questions', DemoTask>> = {
  reviews: {
    folder: folder('customer-reviews'),
    model: { type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
    epochs: 15,
    metric: 'accuracy',
    expert: 'n-grams',
    samples: [
      'Arrived two days early and works perfectly, my daughter loves it.',
      'Waste of money. It broke within a week and nobody answers my emails.',
      'Not bad at all for the price, and the staff were friendly too.',
    ],
    ask: 'a sentence',
    print: printLabels,
  },
  entities: {
    folder: folder('news-entities'),
    model: {
      type: 'named-entity-recognition',
      family: 'Grapefruit',
      size: 'mini',
      preprocessing: { lowercase: false },
    },
    metric: 'f1',
    expert: 'CRF',
    samples: [
      'Linda Marsh flew from Vienna to Oslo for the meeting.',
      '“We are hiring again”, said Pedro Alvarez of Silverlake Motors.',
      'The ferry to Malta was late, and nobody at Baltic Shipping knew why.',
    ],
    ask: 'a sentence with names in it',
    print: printEntities,
  },
  questions: {
    folder: folder('library-questions'),
    model: { type: 'question-answering', family: 'Dragonfruit', size: 'mini' },
    metric: 'top-1',
    expert: 'BM25',
    samples: [
      'Is the library open on Saturday afternoon?',
      'What do I do if I lose my card?',
      'Can I print a page in colour?',
    ],
    ask: 'a question for the library',
    print: printPassages,
  },
};

export const modelTypes: readonly ModelType[] = [...classificationTypes, ...sequenceTypes, 'question-answering'];

/** The demo's task for models of a type; undefined if there is no such type. */
export function taskOfType(name: string): DemoTask | undefined {
  const type = modelTypes.find((each) => each === name);
  if (type === undefined) return undefined;
  const task = Object.values(tasks).find(({ model }) => model.type === type);
  if (task) return task;
  const like = type === 'sequence-labeling' ? tasks.entities : tasks.reviews;
  return { ...like, model: { ...like.model, type } };
}
