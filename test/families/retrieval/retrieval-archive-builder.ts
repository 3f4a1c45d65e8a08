import { ArchiveBuilder } from '../../support/archive-builder.js';

export const PASSAGES = ['Paris is in France.', 'Rome is in Italy.', 'Oslo is in Norway.'] as const;

/** A sound question-answering archive, to be spoiled. */
export function aRetrievalArchive(): ArchiveBuilder {
  const config = {
    desc: 'Capitals',
    DATASET_NAME: 'capitals',
    DATA_DIR: 'capitals',
    TRAIN_FILE: 'train.json',
    DEV_FILE: 'dev.json',
    TEST_FILE: '',
  };
  return new ArchiveBuilder(config, new Map())
    .withLabels(PASSAGES)
    .withFile('train.json', questions(['Where is Paris?', 0], ['Where is Rome?', 1]))
    .withFile('dev.json', questions(['Where is Oslo?', 2]));
}

/** The contents of train.json or dev.json: a question an entry, each with the index of its passage. */
export function questions(...rows: readonly (readonly [question: string, passage: number])[]): string {
  return entries(...rows.map(([question, passage]) => ({ question, context: PASSAGES[passage] })));
}

/** An object of "0", "1", … to these entries, one a line from line 2. */
export function entries(...values: readonly unknown[]): string {
  return `{\n${values.map((value, index) => `"${index}": ${JSON.stringify(value)}`).join(',\n')}\n}\n`;
}
