import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type ModelConfig,
} from 'orchard-nlp';

/** A tiny dataset of each family, to be trained on in a second or two. */

/** What a family is trained on, and what its model is asked. */
export interface OptionsDataset {
  readonly model: Omit<ModelConfig, 'name'>;
  /** Holds letters in upper case, which matter to a cased model. */
  readonly query: string;
  /** Writes the archive; gives its URL. */
  write(folder: string): Promise<string>;
}

const opinions = ['was quick and friendly', 'was slow and rude', 'made me happy again', 'made me wait for hours'];
const shops = ['the bakery on our street', 'the US office', 'a driver from Oslo', 'the new waiter'];
const reviews = shops.flatMap((shop) =>
  opinions.map((opinion, at) => ({ text: `${shop} ${opinion}`, label: at % 2 === 0 ? 'good' : 'bad' })),
);

const travellers = ['Ada Berg', 'Tom', 'Mei Chen', 'Omar'];
const places = ['Oslo', 'New York', 'Lima'];
const sentences = travellers.flatMap((traveller) =>
  places.map((place) => ({
    words: [...traveller.split(' '), 'flew', 'to', ...place.split(' '), 'for', 'US', '.'],
    tags: [...tagsOf(traveller, 'PER'), 'O', 'O', ...tagsOf(place, 'LOC'), 'O', 'B-LOC', 'O'],
  })),
);

function tagsOf(name: string, type: string): string[] {
  return name.split(' ').map((_, at) => (at === 0 ? `B-${type}` : `I-${type}`));
}

const facts = ['swims in the lake', 'is painted red', 'closes at noon', 'belongs to the US', 'was built of stone'];
const questions = ['who or what is it that', 'can you tell me what now'].flatMap((start) =>
  facts.map((fact, at) => ({ question: `${start} ${fact}`, context: `House ${at} of Oslo ${fact}.` })),
);

export const optionsDatasets: Readonly<Record<'Papaya' | 'Grapefruit' | 'Dragonfruit', OptionsDataset>> = {
  Papaya: {
    model: { type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
    query: 'the US office was slow',
    write: (folder) => {
      const target = join(folder, 'papaya.zip');
      const type = 'binary-text-classification';
      return created(createClassificationArchive({ type, name: 'reviews', rows: reviews }, target));
    },
  },
  Grapefruit: {
    model: { type: 'sequence-labeling', family: 'Grapefruit', size: 'mini' },
    query: 'Ada flew to Lima for US .',
    write: (folder) =>
      created(createSequenceArchive({ name: 'trips', rows: sentences }, join(folder, 'grapefruit.zip'))),
  },
  Dragonfruit: {
    model: { type: 'question-answering', family: 'Dragonfruit', size: 'mini' },
    query: 'what belongs to the US',
    write: (folder) =>
      created(createRetrievalArchive({ name: 'houses', rows: questions }, join(folder, 'dragonfruit.zip'))),
  },
};

async function created(
  archive: ReturnType<
    typeof createRetrievalArchive | typeof createSequenceArchive | typeof createClassificationArchive
  >,
) {
  const made = await archive;
  if (made.isErr()) throw made.error;
  return pathToFileURL(made.value.path).href;
}
