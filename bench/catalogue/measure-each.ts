import type { Measured } from '../../models/recipes/catalogue/model-facts.js';
import type { TestSet } from '../../models/recipes/catalogue/recipe.js';

export interface Measurement {
  readonly tests: readonly Measured[];
  /** The texts that were asked, of all tests in turn. */
  readonly texts: readonly string[];
}

/** The outcome of one test. */
export interface Answered {
  /** The texts that were asked, one per row. */
  readonly texts: readonly string[];
  readonly figure: Omit<Measured, 'test' | 'rows'>;
}

/** Measures every test of a recipe, one after another. */
export async function measureEach<Test>(
  tests: readonly TestSet<Test>[],
  datasets: string,
  answer: (test: Test) => Promise<Answered>,
): Promise<Measurement> {
  const measured: Measured[] = [];
  const asked: (readonly string[])[] = [];
  for (const { title, read } of tests) {
    const { texts, figure } = await answer(await read(datasets));
    measured.push({ test: title, rows: texts.length, ...figure });
    asked.push(texts);
  }
  return { tests: measured, texts: asked.flat() };
}
