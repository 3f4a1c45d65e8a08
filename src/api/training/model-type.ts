import { type FamilyName, familyNameOf, type ModelType } from '../../contract/index.js';
import { counted, fieldsOf, invalid, quoted, type RowShape, type RowTable, rowShapes } from '../../datasets/index.js';

/** Which type of model fits some rows. */

/** The type of a model to be trained, and how it was found. */
export interface FoundType {
  readonly type: ModelType;
  readonly family: FamilyName;
  /** Whether the application named it, or it was found in the data. */
  readonly typeIs: 'given' | 'inferred';
  /** Why this type, in words. */
  readonly reason: string;
}

/** The types that each shape of row can be for, the first being the one for it where nothing else is said. */
const fitting: Readonly<Record<RowTable['checked']['shape'], readonly ModelType[]>> = {
  label: ['binary-text-classification', 'multiclass-text-classification', 'multilabel-text-classification'],
  labels: ['multilabel-text-classification'],
  tags: ['named-entity-recognition', 'sequence-labeling'],
  entities: ['named-entity-recognition', 'sequence-labeling'],
  passage: ['question-answering'],
  passages: ['question-answering'],
};

/** The shapes that rows for a type may have. */
export function shapesFor(type: ModelType): readonly RowShape[] {
  return rowShapes.filter((shape) => fitting[shape].includes(type));
}

/** @throws ValidationError for a type that the rows don't fit, or where they don't settle it. */
export function typeOfRows(table: RowTable, given: ModelType | undefined): FoundType {
  const { shape } = table.checked;
  if (given === undefined) return inferred(table);
  if (!fitting[shape].includes(given)) {
    const types = fitting[shape].join(', ');
    throw invalid(['type'], `${table.origin} has rows of ${fieldsOf(shape)}, which are for ${types}, not for ${given}`);
  }
  return found(given, 'given', 'as asked for');
}

export function found(type: ModelType, typeIs: FoundType['typeIs'], reason: string): FoundType {
  return { type, family: familyNameOf[type], typeIs, reason };
}

function inferred({ checked, origin }: RowTable): FoundType {
  switch (checked.shape) {
    case 'label':
      return typeOfLabels(
        checked.rows.map(({ label }) => label),
        origin,
      );
    case 'labels':
      return found('multilabel-text-classification', 'inferred', 'rows have any number of labels');
    case 'tags':
      return found('named-entity-recognition', 'inferred', 'rows have words and a tag for each');
    case 'entities':
      return found('named-entity-recognition', 'inferred', 'rows have texts and the places of entities');
    default:
      return found('question-answering', 'inferred', 'rows have questions and passages that answer them');
  }
}

/** @throws ValidationError where it can't be told whether a comma separates labels, or there is but one label. */
function typeOfLabels(labels: readonly string[], origin: string): FoundType {
  const distinct = new Set(labels);
  const joined = [...distinct].find((label) => isListOf(label, distinct));
  if (joined !== undefined) {
    throw invalid(
      ['type'],
      `${origin} has the label ${quoted(joined)}, which may be one label or several; pass type: 'multilabel-text-classification' if a comma separates labels, else 'multiclass-text-classification'`,
    );
  }
  const different = `${counted(distinct.size, 'different label')}, one for each row`;
  if (distinct.size > 2) return found('multiclass-text-classification', 'inferred', different);
  if (distinct.size === 2) return found('binary-text-classification', 'inferred', different);
  const only = quoted([...distinct][0] ?? '');
  throw invalid(['rows'], `all rows of ${origin} have the label ${only}; a classifier needs two labels or more`);
}

/** Whether a label with commas is made of labels that others have alone. */
function isListOf(label: string, known: ReadonlySet<string>): boolean {
  const parts = label.split(',').map((part) => part.trim());
  return parts.length > 1 && parts.some((part) => known.has(part));
}
