/** Rows as the archive that a training job reads (docs/archives.md). */
import type { ResultAsync } from 'neverthrow';
import type { DatasetWarning } from '../../datasets/index.js';
import type { OrchardError } from '../../errors.js';
import {
  classificationTypes,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  type QuestionRow,
  type SequenceRow,
  type SourceRow,
} from '../../families/index.js';
import { invalid, type RowTable, taggedSentence } from '../rows/index.js';
import type { FoundType } from './model-type.js';

/** What becomes a dataset. */
export interface DatasetParts {
  readonly type: FoundType['type'];
  readonly name: string;
  readonly train: RowTable;
  /** Default: some of `train` are set aside. */
  readonly dev?: RowTable | undefined;
  readonly devFraction?: number | undefined;
  readonly seed?: number | undefined;
  /** Question answering: passages to search besides those of the rows. */
  readonly passages?: Iterable<string> | undefined;
}

/** What a dataset came to. */
export interface MadeDataset {
  readonly train: number;
  readonly dev: number;
  readonly warnings: readonly DatasetWarning[];
}

/** Writes the zip. Fails with a DatasetError or ValidationError that names each row or line that doesn't fit. */
export function makeDataset(parts: DatasetParts, path: string): ResultAsync<MadeDataset, OrchardError> {
  const { type, name, train, dev, devFraction, seed, passages } = parts;
  const options = { name, devFraction, seed };
  const classification = classificationTypes.find((each) => each === type);
  if (classification !== undefined) {
    const [rows, devRows] = [textSource(train), dev && textSource(dev)];
    return createClassificationArchive({ ...options, type: classification, rows, devRows }, path);
  }
  if (type === 'question-answering') {
    const [rows, devRows] = [questionSource(train), dev && questionSource(dev)];
    return createRetrievalArchive({ ...options, rows, devRows, passages }, path);
  }
  const [rows, devRows] = [sentenceSource(train), dev && sentenceSource(dev)];
  return createSequenceArchive({ ...options, rows, devRows }, path);
}

function textSource({ checked, file }: RowTable) {
  return file?.kind === 'texts' ? file.file : textRows(checked);
}

function sentenceSource({ checked, file }: RowTable) {
  return file?.kind === 'sentences' ? file.file : sentenceRows(checked);
}

function questionSource({ checked, file }: RowTable) {
  return file?.kind === 'questions' ? file.file : questionRows(checked);
}

function textRows(checked: RowTable['checked']): readonly SourceRow[] {
  if (checked.shape === 'label' || checked.shape === 'labels') return checked.rows;
  throw misfit(checked, 'text and label');
}

function sentenceRows(checked: RowTable['checked']): readonly SequenceRow[] {
  if (checked.shape === 'tags') return checked.rows.map(({ tokens: words, tags }) => ({ words, tags }));
  if (checked.shape === 'entities') return checked.rows.map(taggedSentence);
  throw misfit(checked, 'tokens and tags, or text and entities');
}

function questionRows(checked: RowTable['checked']): readonly QuestionRow[] {
  if (checked.shape === 'passage') {
    return checked.rows.map(({ question, passage: context }) => ({ question, context }));
  }
  if (checked.shape === 'passages') {
    return checked.rows.flatMap(({ question, passages }) =>
      passages.map((context) => ({ question, context })),
    );
  }
  throw misfit(checked, 'question and passage');
}

function misfit({ shape }: RowTable['checked'], wanted: string) {
  return invalid(
    ['dev'],
    `its rows have ${shape}, but the rows to train on have ${wanted}; give both the same fields`,
  );
}
