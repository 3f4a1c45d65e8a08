import { CARD_FILE, EVALUATION_FILE } from '../model-folder/index.js';
import { modelCard } from './model-card.js';
import type { ReportInput } from './report-input.js';

/** The files by which a model folder tells about its model, beside training.json: the card and evaluation.json. */
export function reportFiles(report: ReportInput): Map<string, string> {
  const { evaluation } = report;
  const files = new Map([[CARD_FILE, modelCard(report)]]);
  // On one line: a confusion matrix has thousands of numbers.
  if (evaluation !== undefined) files.set(EVALUATION_FILE, `${JSON.stringify(evaluation)}\n`);
  return files;
}
