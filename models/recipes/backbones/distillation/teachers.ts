/** How teachers are asked, by the names of their folders. */
export const poolings = ['mean', 'first', 'own'] as const;
/**
 * How a teacher's own users make one vector of a text: the mean of all tokens' states, the first token's, or in a way
 * of its own, by a program that gives nothing else.
 */
export type Pooling = (typeof poolings)[number];

export interface TeacherManners {
  /** What it wants to read before a text. Its tokens are no targets. */
  readonly prefix: string;
  readonly pooling: Pooling;
  /** Of its weights. */
  readonly licence: string;
  readonly home: string;
}

export const teachers: Readonly<Record<string, TeacherManners>> = {
  'all-MiniLM-L6-v2': {
    prefix: '',
    pooling: 'mean',
    licence: 'Apache-2.0',
    home: 'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2',
  },
  'e5-small-v2': {
    prefix: 'query: ',
    pooling: 'mean',
    licence: 'MIT',
    home: 'https://huggingface.co/intfloat/e5-small-v2',
  },
  'bge-small-en-v1.5': {
    prefix: '',
    pooling: 'first',
    licence: 'MIT',
    home: 'https://huggingface.co/BAAI/bge-small-en-v1.5',
  },
  'all-mpnet-base-v2': {
    prefix: '',
    pooling: 'mean',
    licence: 'Apache-2.0',
    home: 'https://huggingface.co/sentence-transformers/all-mpnet-base-v2',
  },
  'bert-base-cased': {
    prefix: '',
    pooling: 'mean',
    licence: 'Apache-2.0',
    home: 'https://huggingface.co/google-bert/bert-base-cased',
  },
  'bert-base-uncased': {
    prefix: '',
    pooling: 'mean',
    licence: 'Apache-2.0',
    home: 'https://huggingface.co/google-bert/bert-base-uncased',
  },
  'use-multilingual-v3': {
    prefix: '',
    pooling: 'own',
    licence: 'Apache-2.0',
    home: 'https://www.kaggle.com/models/google/universal-sentence-encoder',
  },
  'bert-base-multilingual-cased': {
    prefix: '',
    pooling: 'mean',
    licence: 'Apache-2.0',
    home: 'https://huggingface.co/google-bert/bert-base-multilingual-cased',
  },
};

/** @throws Error if nothing is known of a teacher of this name. */
export function mannersOf(name: string): TeacherManners {
  const found = teachers[name];
  if (found !== undefined) return found;
  throw new Error(`no teacher ${name} in teachers.ts: there are ${Object.keys(teachers).join(', ')}`);
}
