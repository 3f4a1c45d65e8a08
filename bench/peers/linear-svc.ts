import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { LabelledTexts } from '../datasets/labelled-texts.js';

const SCRIPT = fileURLToPath(new URL('linear_svc.py', import.meta.url));
const answerSchema = z.object({
  predicted: z.array(z.array(z.int())),
  seconds: z.number(),
  version: z.string(),
});

/** Label ids for each test text, and the seconds that training took. */
export type LinearSvcAnswer = z.infer<typeof answerSchema>;

/**
 * scikit-learn's TF-IDF and LinearSVC on the same rows.
 * @param nGrams the n-grams that Orchard's own expert chose for these texts.
 * @returns the reason as text if scikit-learn does not run.
 */
export function linearSvc(dataset: LabelledTexts, nGrams: unknown, python: string): LinearSvcAnswer | string {
  const { labels, train, test } = dataset;
  const ids = (names: readonly string[]) => names.map((label) => labels.indexOf(label));
  const input = JSON.stringify({
    multilabel: dataset.type === 'multilabel-text-classification',
    labels: labels.length,
    n_grams: nGrams,
    train: train.map(({ text }) => text),
    train_ids: train.map((row) => ids(row.labels)),
    test: test.map(({ text }) => text),
  });
  const { stdout, stderr, error, status } = spawnSync(python, [SCRIPT], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (error) return `${python} does not start`;
  if (status !== 0) return stderr.includes('sklearn') ? 'scikit-learn is not installed' : stderr.slice(-300);
  return answerSchema.parse(JSON.parse(stdout));
}
