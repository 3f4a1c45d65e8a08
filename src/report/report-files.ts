import { CARD_FILE, EVALUATION_FILE } from '../model-folder/index.js';
import { modelCard } from './model-card.js';
import type { ReportInput } from './report-input.js';

/**
 * The files of a model folder that describe its model, besides training.json: the card and evaluation.json.
 */
export function reportFiles(report: ReportInput): Map<string, string> {
  const { evaluation } = report;
  const files = new Map([[CARD_FILE, modelCard(report)]]);
  // On one line: a confusion matrix has thousands of numbers.
  if (evaluation !== undefined) files.set(EVALUATION_FILE, `${JSON.stringify(evaluation)}\n`);
  return files;
}
