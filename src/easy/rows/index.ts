export {
  type CheckedRows,
  type Columns,
  columnsSchema,
  type EntityRange,
  type EntityRow,
  fieldsOf,
  invalid,
  isRowFile,
  type LabelledRow,
  type MultilabelRow,
  type QuestionPassageRow,
  type QuestionPassagesRow,
  type RowShape,
  type Rows,
  type RowsOrPath,
  type RowTable,
  type TaggedRow,
  type TrainingRow,
} from '../../datasets/index.js';
export { sentenceWithEntities, taggedSentence } from '../../families/index.js';
export { type ReadOptions, readRows } from './read-rows.js';
