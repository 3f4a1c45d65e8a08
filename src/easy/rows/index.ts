export { fieldsOf, invalid, type ReadOptions, type RowTable, readRows } from './read-rows.js';
export { type Columns, columnsSchema, isRowFile } from './row-file.js';
export { sentenceWithEntities, taggedSentence } from './tagged-sentence.js';
export type {
  CheckedRows,
  EntityRange,
  EntityRow,
  LabelledRow,
  MultilabelRow,
  QuestionPassageRow,
  QuestionPassagesRow,
  RowShape,
  Rows,
  RowsOrPath,
  TaggedRow,
  TrainingRow,
} from './training-row.js';
