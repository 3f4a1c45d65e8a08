import { ConfusionMatrix } from 'ml-confusion-matrix';
import type { InferenceResult } from 'orchard-nlp';
import pc from 'picocolors';
import type { DevRow } from './dev-rows.js';

/** Maximum number of queries in a batch. */
const BATCH = 20;

type Predict = (texts: readonly string[]) => Promise<readonly InferenceResult[]>;

/** Predicts every row and prints a confusion matrix. */
export async function printConfusion(rows: readonly DevRow[], predict: Predict): Promise<void> {
  const predicted: string[] = [];
  for (let start = 0; start < rows.length; start += BATCH) {
    const results = await predict(rows.slice(start, start + BATCH).map(({ text }) => text));
    for (const { labels } of results) predicted.push(labels[0] ?? '');
  }
  const matrix = ConfusionMatrix.fromLabels(
    rows.map(({ label }) => label),
    predicted,
  );
  const names = matrix.getLabels().map(String);
  const width = Math.max(...names.map(({ length }) => length)) + 2;
  const corner = 'actual \\ predicted';
  const firstWidth = Math.max(corner.length, width);
  console.log(pc.dim(`  ${corner.padEnd(firstWidth)}${names.map((name) => name.padStart(width)).join('')}`));
  for (const [row, name] of names.entries()) {
    const counts = matrix.getMatrix()[row] ?? [];
    console.log(`  ${name.padEnd(firstWidth)}${counts.map((count) => String(count).padStart(width)).join('')}`);
  }
  console.log(`\n  accuracy ${(100 * matrix.getAccuracy()).toFixed(1)} % on ${rows.length} rows`);
}
