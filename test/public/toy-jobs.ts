import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createRetrievalArchive,
  createSequenceArchive,
  type ModelConfig,
  type SequenceRow,
  type TrainingRequest,
} from 'orchard-nlp';
import { SMALL_VOCABULARY } from './sentiments.js';

/** Jobs of a few seconds on entities and on questions. */

const people = ['Ada', 'Bob Smith', 'Grace Hopper', 'Alan', 'Eve Jones', 'Carl'];
const places = ['Paris', 'New York', 'Rome', 'Rio de Janeiro', 'Oslo', 'Cairo'];
const sentences = ['P met friends in L .', 'in L it rained on P', 'P left L', 'nobody went home', 'L thanks P !'];

function tagged(name: string, type: string): readonly (readonly [word: string, tag: string])[] {
  return name.split(' ').map((word, at) => [word, `${at === 0 ? 'B' : 'I'}-${type}`]);
}

/** Every sentence about every person and place. */
export const entityRows: readonly SequenceRow[] = people.flatMap((person, at) =>
  places.flatMap((place, offset) => {
    const words = (sentences[(at + offset) % sentences.length] ?? '').split(' ').flatMap((word) => {
      if (word === 'P') return tagged(person, 'PER');
      if (word === 'L') return tagged(place, 'LOC');
      return [[word, 'O'] as const];
    });
    return [{ words: words.map(([word]) => word), tags: words.map(([, tag]) => tag) }];
  }),
);

const things = [
  'lamp',
  'phone',
  'chair',
  'river',
  'engine',
  'garden',
  'window',
  'bridge',
  'camera',
  'piano',
  'boat',
  'clock',
];
const facts = ['costs', 'weighs', 'was made in', 'belongs to'];
const amounts = ['forty coins', 'nine stones', 'the old town', 'a quiet neighbour'];

/** A passage a thing and fact, a question each. */
export const questionRows = things.flatMap((thing) =>
  facts.map((fact, at) => ({
    question: `tell me what the ${thing} ${fact}`,
    context: `As everybody knows, the ${thing} ${fact} ${amounts[at]}.`,
  })),
);

const training_config = {
  batch_size: 8,
  num_epochs: 8,
  learning_rate: 1e-3,
  use_pretrained: false,
  language: SMALL_VOCABULARY,
} as const;

function requestFor(archive: string, model: Pick<ModelConfig, 'name' | 'type' | 'family'>): TrainingRequest {
  return {
    dataset_url: pathToFileURL(archive).href,
    model_config: { ...model, size: 'mini' },
    training_config,
  };
}

/** Writes the sentences as an archive. @returns a request that trains on it. */
export async function entityRequest(
  folder: string,
  type: 'sequence-labeling' | 'named-entity-recognition' = 'sequence-labeling',
): Promise<TrainingRequest> {
  const archive = join(folder, 'entities.zip');
  const written = await createSequenceArchive({ name: 'entities', rows: entityRows }, archive);
  if (written.isErr()) throw written.error;
  return requestFor(archive, { name: 'entities', type, family: 'Grapefruit' });
}

/** Writes the questions as an archive. @returns a request that trains on it. */
export async function questionRequest(folder: string): Promise<TrainingRequest> {
  const archive = join(folder, 'questions.zip');
  const written = await createRetrievalArchive({ name: 'questions', rows: questionRows }, archive);
  if (written.isErr()) throw written.error;
  return requestFor(archive, { name: 'questions', type: 'question-answering', family: 'Dragonfruit' });
}
