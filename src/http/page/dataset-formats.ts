/** How a file of rows looks, by the family of models that is trained on it. */
export interface DatasetFormat {
  /** What there is in a row. */
  readonly about: string;
  /** By the name of a file. */
  readonly samples: Readonly<Record<string, string>>;
  /** The endings of files that are taken, as an `accept`. */
  readonly accept: string;
}

const TABLES = '.zip,.csv,.tsv,.jsonl,.ndjson,.json';

export const datasetFormats: Readonly<Record<string, DatasetFormat>> = {
  Papaya: {
    about:
      'A row for each text, with the columns “text” and “label”. Several labels of a text are separated by commas, or are an array in JSON Lines.',
    samples: {
      'reviews.csv': 'text,label\n"Works, as it should",positive\nBroke at once,negative\n',
      'reviews.jsonl':
        '{"text": "Works, as it should", "label": "positive"}\n{"text": "Broke at once", "label": "negative"}\n',
    },
    accept: TABLES,
  },
  Grapefruit: {
    about:
      'CoNLL’s columns: a word in each line, and after a tab or space its tag: O, or B- and I- with the type of the entity. A blank line ends a sentence.',
    samples: { 'names.conll': 'Ada\tB-PER\nLovelace\tI-PER\nleft\tO\nParis\tB-LOC\n\nIt\tO\nrains\tO\n' },
    accept: '.zip,.conll,.txt,.tsv,.bio,.iob',
  },
  Dragonfruit: {
    about:
      'A row for each question and the passage that answers it, with the columns “question” and “context”.',
    samples: {
      'questions.csv':
        'question,context\nHow heavy is the lamp?,The lamp weighs two kilograms.\nWhere is it made?,All lamps are made in Graz.\n',
      'questions.jsonl':
        '{"question": "How heavy is the lamp?", "context": "The lamp weighs two kilograms."}\n',
    },
    accept: TABLES,
  },
};
