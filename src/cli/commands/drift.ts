import { orThrow } from '../../contract/index.js';
import { counted, grouped } from '../../datasets/index.js';
import type { Drift } from '../../drift/index.js';
import { command, UsageError } from '../command.js';
import { alignedLines, onOneLine } from '../format.js';
import {
  argument,
  checkpointOptions,
  flag,
  integer,
  modelParameters,
  openModel,
  openTexts,
  option,
  seedOption,
  textOptions,
} from '../parameters.js';
import { interruptible, type Output, Progress, type Terminal } from '../terminal.js';

export const driftCommand = command({
  name: 'drift',
  summary: 'compare texts with those that a model was trained on',
  details: `Compares the n-grams, lengths, answers and vectors of the texts with the baseline in the model's folder, or with usual texts of
your own. The tests together give a false alarm in at most 5 % of the comparisons.

  orchard drift ./reviews-model this-week.txt --usual last-month.txt --fail-on-drift`,
  parameters: {
    model: modelParameters.model,
    texts: argument('<texts>', 'file of texts; - is standard input'),
    usual: option('--usual <file>', "file of usual texts to compare with, instead of the model's baseline"),
    inputFormat: textOptions.inputFormat,
    textColumn: textOptions.textColumn,
    show: option('--show <number>', 'maximum number of labels and odd texts to print (default: 5)', integer(0)),
    failOnDrift: flag('--fail-on-drift', 'exit with code 1 if the texts drifted'),
    seed: seedOption,
    ...checkpointOptions,
    device: modelParameters.device,
    runtime: modelParameters.runtime,
    threads: modelParameters.threads,
  },
  async run({ settings, terminal, output }) {
    const { texts: input, usual, inputFormat, textColumn, show = 5, failOnDrift = false, seed } = settings;
    if (input === '-' && usual === '-') throw new UsageError('only one of texts and --usual can be standard input');
    const { formatOfInput } = await import('../text-input.js');
    const hasColumns = (path: string) => (inputFormat ?? formatOfInput(path)) !== 'text';
    const shown = { terminal, output };
    // The other file may be the one with columns.
    const textsOf = (path: string, other: string | undefined) => {
      const isForOther = !hasColumns(path) && other !== undefined && hasColumns(other);
      return readTexts({ input: path, inputFormat, textColumn: isForOther ? undefined : textColumn }, shown);
    };
    const given = await textsOf(input, usual);
    const usualTexts = usual === undefined ? undefined : await textsOf(usual, input);
    const drift = await interruptible(async (signal) => {
      await using model = await openModel(settings, signal);
      const usualOnes = usualTexts?.map(({ text }) => text);
      const baseline = usualOnes && (await orThrow(model.baseline({ texts: usualOnes, seed, signal })));
      return await orThrow(
        model.drift(
          given.map(({ text }) => text),
          { baseline, seed, signal },
        ),
      );
    });
    const oddest = drift.oddest.map((odd) => ({ ...odd, line: given[odd.index]?.line ?? 0 }));
    const odd = oddest.map(({ index, line, score, reason }) => [
      `line ${line}`,
      score.toFixed(1),
      onOneLine(given[index]?.text ?? '').slice(0, MOST_CHARACTERS),
      reason,
    ]);
    await output.result({ ...drift, oddest }, linesOf(drift, odd, show));
    if (failOnDrift && drift.alarm) output.fail();
  },
});

const MOST_CHARACTERS = 60;

interface Shown {
  readonly terminal: Terminal;
  readonly output: Output;
}

async function readTexts(settings: Parameters<typeof openTexts>[0], { terminal, output }: Shown) {
  using texts = await openTexts(settings, { terminal, output, progress: new Progress(terminal) });
  const all: { readonly line: number; readonly text: string }[] = [];
  for await (const each of texts) all.push(each);
  return all;
}

function linesOf(drift: Drift, odd: readonly (readonly string[])[], show: number): readonly string[] {
  const { texts, baselineTexts, isEnough, alarm, reasons, tests, knownShare, length, labels, vectors } = drift;
  const verdict = !isEnough ? 'too few texts' : alarm ? 'the texts drifted' : 'no drift found';
  const pOf = (name: string) => {
    const test = tests.find((each) => each.name === name);
    return test === undefined ? '-' : test.adjusted.toFixed(3);
  };
  const shares = ([low, high]: readonly [number, number]) => `${percent(low)} to ${percent(high)}`;
  const [shortest, longest] = length.interval;
  const table = [
    ['', 'baseline', 'texts', '95 % interval', 'adjusted p'],
    [
      'known n-grams',
      percent(knownShare.baseline),
      percent(knownShare.value),
      shares(knownShare.interval),
      pOf('knownShare'),
    ],
    [
      'length in characters',
      length.baseline.toFixed(0),
      length.value.toFixed(0),
      `${shortest.toFixed(0)} to ${longest.toFixed(0)}`,
      pOf('length'),
    ],
    ...(labels ? [['shares of answers', '', '', '', pOf('labels')]] : []),
    ...(vectors ? [['vectors, MMD²', '0', vectors.mmd.toFixed(4), '', pOf('vectors')]] : []),
  ];
  const shifts = (labels ?? [])
    .slice(0, show)
    .map(({ label, baseline, share, interval }) => [
      onOneLine(label),
      percent(baseline),
      percent(share),
      `shift ${shares(interval)}`,
    ]);
  const section = (title: string, rows: readonly (readonly string[])[]) =>
    rows.length === 0 ? [] : ['', title, ...alignedLines(rows).map((line) => `  ${line}`)];
  return [
    `${verdict}: ${counted(texts, 'text')}, compared with ${grouped(baselineTexts)} of the baseline`,
    ...reasons.map((reason) => `- ${reason}`),
    '',
    ...alignedLines(table),
    ...section('largest shifts of answers, in the baseline and in the texts:', shifts),
    ...section('oddest texts:', odd.slice(0, show)),
  ];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
