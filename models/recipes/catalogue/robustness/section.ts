import { decimal, escapeMarkdown, markdownTable, percent, whole } from '../../../../src/report/index.js';
import type { Metric, Robustness } from '../model-facts.js';
import type { Recipe } from '../recipe.js';

/** The card's section on texts that aren't as neat as the tests; one that was not measured has none. */
export function robustnessSection({ name }: Recipe, measured: Robustness | undefined): string {
  if (measured === undefined) return '';
  const command = `npm run bench -- robustness <datasets folder> ${name}`;
  return [
    '## What users type',
    `\`${command}\` prints these figures. Each test has at most 1,000 rows.`,
    ...measured.edited.map(editedTable),
    explained(measured.edited),
    kindsTable(measured.kinds),
    calibrationTable(measured.calibration),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** What an edit does where its name doesn't say so. */
const explanations: Readonly<Record<string, string>> = {
  typos: 'Typos: one in five words has a typo.',
  'as a tweet': 'As a tweet: with a handle before the text, and a hashtag and a link after it.',
};

/** Explains the edits that the tables have. */
function explained(edited: Robustness['edited']): string {
  const edits = new Set(edited.flatMap(({ figures }) => figures.map(({ edit }) => edit)));
  const shown = Object.entries(explanations).filter(([edit]) => edits.has(edit));
  return shown.map(([, explanation]) => explanation).join(' ');
}

function editedTable({ test, metric, rows, figures }: Robustness['edited'][number]): string {
  const shown = asShown(metric);
  return markdownTable(
    [escapeMarkdown(`${test}, ${whole(rows)} rows`), metric, '95 % interval'],
    figures.map(({ edit, value, low, high }) => [edit, shown(value), `${shown(low)} to ${shown(high)}`]),
  );
}

/** How a card writes a figure of this metric. */
export const asShown = (metric: Metric) =>
  metric === 'nDCG@10' || metric === 'macro-F1' ? (share: number) => decimal(share) : percent;

function kindsTable(kinds: Robustness['kinds']): string {
  if (kinds.length === 0) return '';
  const rows = kinds.map(({ kind, label, rows: texts, value }) => [
    escapeMarkdown(kind),
    escapeMarkdown(label),
    whole(texts),
    percent(value),
  ]);
  const table = markdownTable(['kind of text', 'right label', 'texts', 'right'], rows);
  return `Kinds of texts that such models often get wrong, in sentences written for this test (\`models/recipes/catalogue/kinds\`):\n\n${table}`;
}

function calibrationTable(calibration: Robustness['calibration']): string {
  if (calibration.length === 0) return '';
  const rows = calibration.map(({ test, rows: texts, accuracy, confidence, error }) => [
    escapeMarkdown(test),
    whole(texts),
    percent(accuracy),
    percent(confidence),
    decimal(error),
  ]);
  const table = markdownTable(['texts', 'rows', 'accuracy', 'mean score', 'calibration error'], rows);
  return `Whether the scores are calibrated (expected calibration error over 15 bins, Naeini et al. 2015):\n\n${table}`;
}
