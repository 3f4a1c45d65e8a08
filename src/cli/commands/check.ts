import type { DataCheck, DoubtfulRow, RowPlace } from '../../api/index.js';
import { modelTypes, orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import { command } from '../command.js';
import { alignedLines, shownTexts, warningLine } from '../format.js';
import {
  argument,
  choice,
  integer,
  option,
  readingOf,
  readingOptions,
  seedOption,
  trainingThreadsOption,
} from '../parameters.js';
import { interruptible } from '../terminal.js';

export const checkCommand = command({
  name: 'check',
  summary: 'find mistakes in a file of rows: wrong labels, duplicates, contradictions, leaks',
  details: `Prints how the file is read, the rows whose labels are probably wrong, repeated and contradictory rows, rows that are also in
--dev or --test, labels that look alike, labels that are confused with each other, and labels with too few rows. Trains no model.

  orchard check reviews.csv --test test.csv`,
  parameters: {
    data: argument('<data>', 'file of rows'),
    dev: option('--dev <file>', 'file of dev rows, to find texts that occur in both files'),
    test: option('--test <file>', 'file of test rows, to find texts that occur in both files'),
    type: choice('-t, --type <type>', 'task of the model (default: inferred from the rows)', modelTypes),
    ...readingOptions,
    model: {
      ...option(
        '-m, --model <model>',
        'encoder that judges the labels: a name, owner/name or folder (default: english-mini)',
      ),
      suggestions: ['english-mini', 'english-base'],
    },
    maxJudged: option(
      '--max-judged <number>',
      'maximum number of rows whose labels are judged (100 to 100000; default: 10000)',
      integer(100, 100_000),
    ),
    show: option('--show <number>', 'maximum number of lines to print of each kind (default: 10)', integer(0)),
    seed: seedOption,
    threads: trainingThreadsOption,
  },
  async run({ settings, output }) {
    const { checkData } = await import('../../api/index.js');
    const { data, dev, test, type, model, maxJudged, show = 10, seed, threads } = settings;
    const options = { path: data, ...readingOf(settings), dev, test, type, model, maxJudged, seed, threads };
    const check = await interruptible((signal) => orThrow(checkData({ ...options, signal })));
    await output.result(check, linesOf(check, show));
  },
});

function linesOf(check: DataCheck, most: number): readonly string[] {
  const {
    type,
    reason,
    rows,
    readAs,
    warnings,
    duplicates,
    conflicts,
    leaks,
    similarLabels,
    rareLabels,
    confusions,
    seconds,
  } = check;
  const section = (title: string, all: readonly (readonly string[])[]) => {
    if (all.length === 0) return [];
    const more = all.length > most ? [`  and ${grouped(all.length - most)} more`] : [];
    return ['', `${title}:`, ...alignedLines(all.slice(0, most)).map((line) => `  ${line}`), ...more];
  };
  const repeated = duplicates.reduce((sum, each) => sum + each.rows.length - 1, 0);
  return [
    ...(readAs === undefined ? [] : [`read as ${readAs}`]),
    `${counted(rows, 'row')}, ${type} (${reason}); checked in ${seconds.toFixed(1)} s`,
    ...warnings.map(warningLine),
    ...doubtfulLines(check, section),
    ...section(
      'labels that are confused with each other',
      confusions
        .filter((each) => each.rows > 1)
        .map(({ labels, rows }) => [`${grouped(rows)} ×`, labels.join(' and ')]),
    ),
    ...section(
      `repeated rows, ${grouped(repeated)} to remove`,
      duplicates.map((same) => [placesOf(same.rows), shownTexts(same)]),
    ),
    ...section(
      'the same text with different labels',
      conflicts.map((same) => [
        same.rows.map((row) => `${placesOf([row])} ${row.given.join(', ') || '-'}`).join('; '),
        shownTexts(same),
      ]),
    ),
    ...section(
      'texts that are in other sets too',
      leaks.map(({ set, rows, others, ...same }) => [
        `${placesOf(rows)}, ${set} ${placesOf(others)}`,
        shownTexts(same),
      ]),
    ),
    ...section(
      'labels that look alike',
      similarLabels.map((group) => [
        group.map(({ label, rows }) => `${JSON.stringify(label)} (${grouped(rows)})`).join(', '),
      ]),
    ),
    ...section(
      'labels with few rows',
      rareLabels.map(({ label, rows }) => [`${JSON.stringify(label)} (${grouped(rows)})`]),
    ),
  ];
}

/** How many rows are worth a look where no label is evidently wrong. */
const FEW = 3;

type Section = (title: string, all: readonly (readonly string[])[]) => readonly string[];

function doubtfulLines({ labelErrors, doubtful }: DataCheck, section: Section): readonly string[] {
  if (labelErrors === undefined) return [];
  const { judged, expected, isEvident } = labelErrors;
  if (!isEvident) {
    const title = `no evidence of wrong labels in ${grouped(judged)} rows; the least probable labels`;
    return section(title, doubtful.slice(0, FEW).map(cellsOf));
  }
  const title = `about ${grouped(expected)} of ${grouped(judged)} rows ${expected === 1 ? 'has' : 'have'} a wrong label; the most likely ones`;
  return section(title, doubtful.slice(0, expected).map(cellsOf));
}

function cellsOf({ row, line, given, suggested, probability, ...texts }: DoubtfulRow): readonly string[] {
  const [labels, others] = [given, suggested].map((each) => each.join(', ') || '-');
  return [placesOf([{ row, line }]), probability.toFixed(4), `${labels} → ${others}`, shownTexts(texts)];
}

const MOST_PLACES = 6;

function placesOf(rows: readonly RowPlace[]): string {
  const numbers = rows.slice(0, MOST_PLACES).map(({ row, line = row + 1 }) => line);
  return `${rows.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')}${rows.length > MOST_PLACES ? ', …' : ''}`;
}
