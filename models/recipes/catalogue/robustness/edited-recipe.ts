import type { TaggedSentence } from '../../../../bench/datasets/tagged-sentences.js';
import { Random } from '../../../../src/system/index.js';
import type { LabelledText, Recipe, SearchTest, TestSet } from '../recipe.js';
import { type Edit, editSentence, editText, randomOf, sentenceEdits, textEdits } from './edits.js';

/** Rows of each test that are edited, drawn with a fixed seed if there are more. */
const MOST_ROWS = 1000;
const SEED = 1;

/** Names of the edits that a model's tests can have. */
export const editsOf = (recipe: Recipe): readonly string[] =>
  (recipe.family === 'Grapefruit' ? sentenceEdits : textEdits(recipe.language)).map(({ name }) => name);

/** The same recipe with at most 1,000 rows of each test, edited in one way. @param name undefined: as they were published. */
export function withEditedTests(recipe: Recipe, name: string | undefined): Recipe {
  const named = (edit: Edit) => edit.name === name;
  switch (recipe.family) {
    case 'Papaya': {
      const edit = textEdits(recipe.language).find(named);
      return { ...recipe, tests: recipe.tests.map((test) => changed(test, labelledRows(edit))) };
    }
    case 'Grapefruit': {
      const edit = sentenceEdits.find(named);
      const rows = (sentences: readonly TaggedSentence[]) =>
        sampled(sentences).map((row, at) => (edit === undefined ? row : editSentence(edit, row, randomOf(at))));
      return { ...recipe, tests: recipe.tests.map((test) => changed(test, rows)) };
    }
    case 'Dragonfruit': {
      const edit = textEdits(recipe.language).find(named);
      const rows = ({ passages, questions }: SearchTest): SearchTest => ({
        passages,
        questions: sampled(questions).map((row, at) => ({ ...row, question: maybe(edit, row.question, at) })),
      });
      return { ...recipe, tests: recipe.tests.map((test) => changed(test, rows)) };
    }
  }
}

const labelledRows = (edit: Edit | undefined) => (rows: readonly LabelledText[]) =>
  sampled(rows).map((row, at) => ({ ...row, text: maybe(edit, row.text, at) }));

const maybe = (edit: Edit | undefined, text: string, row: number): string =>
  edit === undefined ? text : editText(edit, text, randomOf(row));

export const sampled = <Row>(rows: readonly Row[]): readonly Row[] =>
  rows.length > MOST_ROWS ? Random.fromSeed(SEED).shuffle(rows).slice(0, MOST_ROWS) : rows;

const changed = <Test>(test: TestSet<Test>, change: (rows: Test) => Test): TestSet<Test> => ({
  ...test,
  read: async (datasets) => change(await test.read(datasets)),
});
