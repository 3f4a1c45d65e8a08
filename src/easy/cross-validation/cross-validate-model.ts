import { AbortedError } from '../../errors.js';
import { familyNamed } from '../../families/index.js';
import { withPauses } from '../../pauses.js';
import { Random } from '../../random.js';
import type { Answer } from '../answers.js';
import { type PlacedModel, placeOf } from '../base-model.js';
import { examplesFor, type JudgedModel, judge } from '../evaluation/index.js';
import { MULTILABEL } from '../multilabel.js';
import { invalid, type RowTable, readRows } from '../rows/index.js';
import { type FoundType, typeOfRows } from '../training/model-type.js';
import { checkedRows, nameOf } from '../training/prepare-dataset.js';
import {
  type CrossValidateOptions,
  type CrossValidateSettings,
  crossValidateSettings,
} from './cross-validate-options.js';
import type { CrossValidation, FoldSummary, OutOfFoldAnswer } from './cross-validation.js';
import { doubtfulRows } from './doubtful-rows.js';
import { figuresOverFolds, namedFigures } from './fold-figures.js';
import { assignFolds, type FoldUnit } from './folds.js';
import { readGroups } from './read-groups.js';
import { trainFold } from './train-fold.js';
import { labelsOf, rowsAt, textsOf, unitsOf } from './units.js';

/** What all folds share. */
interface Validation {
  readonly settings: CrossValidateSettings;
  readonly table: RowTable;
  readonly texts: readonly string[];
  readonly units: readonly FoldUnit[];
  readonly type: FoundType;
  readonly judged: JudgedModel;
  readonly base: PlacedModel | undefined;
}

/** Divides the rows, trains on all parts but one, judges by that one. @throws as `crossValidate` fails */
export async function crossValidateRows(options: CrossValidateOptions): Promise<CrossValidation> {
  const startedAt = performance.now();
  const settings = crossValidateSettings(options);
  const { base, modelLoader, signal } = settings.training;
  if (signal?.aborted) throw new AbortedError('the cross-validation', { cause: signal.reason });
  const { table, type } = await readTable(settings);
  const units = unitsOf(table.checked, await readGroups(settings, table.checked));
  requireDivisible(table, units, settings.folds);
  // All rows as one dataset: problems of any row are reported before the first training.
  const { dataset, leftOut } = await checkedRows({ train: table }, type, signal);
  const validation: Validation = {
    ...{ settings, table, units, type, texts: textsOf(table.checked) },
    judged: judgedModel(table, type, nameOf(settings.training)),
    base: base === undefined ? undefined : await placeOf(base, { modelLoader, backbones: true, signal }),
  };
  const result = await validated(validation);
  const warnings = [...leftOut, ...dataset.warnings];
  const { type: name, typeIs, reason } = type;
  const seconds = (performance.now() - startedAt) / 1000;
  return { type: name, typeIs, reason, ...result, warnings, seconds };
}

async function readTable({ training }: CrossValidateSettings): Promise<{ table: RowTable; type: FoundType }> {
  const { source, columns, signal, type: given, passages } = training;
  if (source.kind === 'url') throw invalid(['url'], 'give rows, or the path of a file of rows');
  const rows = source.kind === 'rows' ? source.rows : source.path;
  const isMultilabel = given === undefined ? undefined : given === MULTILABEL;
  const table = await readRows(rows, { option: source.kind, columns, isMultilabel, signal });
  const type = typeOfRows(table, given);
  if (passages !== undefined && type.type !== 'question-answering') {
    throw invalid(['passages'], `passages are for question-answering, not for ${type.type}`);
  }
  return { table, type };
}

/** @throws ValidationError where folds would be empty, or have nothing to learn */
function requireDivisible({ checked, origin }: RowTable, units: readonly FoldUnit[], folds: number): void {
  if (units.length < folds) {
    const what = `${units.length} different texts or groups`;
    throw invalid(['folds'], `${origin} has ${what}, which can't be divided into ${folds} folds`);
  }
  if (checked.shape !== 'label') return;
  const counts = new Map<string, number>();
  for (const { labels } of units)
    for (const label of new Set(labels)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const lasting = [...counts.values()].filter((count) => count > 1);
  if (lasting.length < 2) {
    const msg = `fewer than two labels of ${origin} have two different texts or groups, so a fold would leave one label to learn`;
    throw invalid(['rows'], msg);
  }
}

function judgedModel({ checked }: RowTable, { type, family }: FoundType, name: string): JudgedModel {
  const kind = familyNamed(family)?.answerView ?? 'labels';
  const labels = [...new Set(labelsOf(checked).flat())].sort();
  return { kind, type, name, labels };
}

type Validated = Pick<CrossValidation, 'folds' | 'figures' | 'evaluations' | 'answers' | 'doubtful'>;

async function validated(validation: Validation): Promise<Validated> {
  const { settings, table, texts, judged } = validation;
  const { repeats, resamples } = settings;
  const { seed, signal } = settings.training;
  const folds: FoldSummary[] = [];
  const answers: OutOfFoldAnswer[] = [];
  const evaluations: CrossValidation['evaluations'][number][] = [];
  const examples = examplesFor(judged, table.checked, table.origin);
  const given = texts.map((): Answer[] => []);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const byText = new Map<string, OutOfFoldAnswer>();
    for await (const { summary, found } of repeatFolds(validation, repeat)) {
      folds.push(summary);
      for (const each of found) byText.set(texts[each.row] ?? '', each);
    }
    for (const [row, text] of texts.entries()) {
      const answer = byText.get(text);
      if (answer === undefined) continue;
      answers.push({ ...answer, row });
      given[row]?.push(answer.answer);
    }
    const inOrder = examples.map(({ text }) => byText.get(text)?.answer);
    evaluations.push(await withPauses(judge(judged, examples, inOrder, { resamples, seed }), signal));
  }
  const first = new Map(texts.map((text, row) => [text, row] as const).reverse());
  const perRow =
    judged.kind === 'passages'
      ? examples.map((example) => ({ row: first.get(example.text) ?? 0, example }))
      : examples.map((example, row) => ({ row, example }));
  const doubtful = doubtfulRows(
    perRow.map(({ row, example }) => ({ row, example, answers: given[row] ?? [] })),
    judged.type === MULTILABEL,
  );
  return { folds, figures: figuresOverFolds(folds), evaluations, answers, doubtful };
}

interface JudgedFold {
  readonly summary: FoldSummary;
  /** To the rows that were held out. */
  readonly found: readonly OutOfFoldAnswer[];
}

/** Each fold in turn: trained without it, judged by it. */
async function* repeatFolds(
  validation: Validation,
  repeat: number,
): AsyncGenerator<JudgedFold, void, undefined> {
  const { settings, table, texts, units, judged, type, base } = validation;
  const { seed, signal } = settings.training;
  const foldOf = assignFolds(units, settings.folds, Random.fromSeed(seed, repeat));
  for (let fold = 0; fold < settings.folds; fold += 1) {
    const startedAt = performance.now();
    const test = new Set(units.flatMap(({ rows }, at) => (foldOf[at] === fold ? rows : [])));
    const train = new Set(texts.flatMap((_, row) => (test.has(row) ? [] : [row])));
    const held = [...test].sort((a, b) => a - b);
    const answers = await trainFold(
      { settings: settings.training, type, base },
      { checked: rowsAt(table.checked, train), origin: table.origin },
      { texts: held.map((row) => texts[row] ?? ''), passages: passagesOf(table) },
    );
    const found = held.flatMap((row, at): OutOfFoldAnswer[] => {
      const answer = answers[at];
      return answer === undefined ? [] : [{ row, repeat, fold, answer }];
    });
    const byText = new Map(found.map(({ row, answer }) => [texts[row] ?? '', answer]));
    const examples = examplesFor(judged, rowsAt(table.checked, test), table.origin);
    const inOrder = examples.map(({ text }) => byText.get(text));
    const figures = namedFigures(await withPauses(judge(judged, examples, inOrder, NO_INTERVALS), signal));
    const seconds = (performance.now() - startedAt) / 1000;
    const summary = { repeat, fold, train: train.size, test: test.size, figures, seconds };
    settings.onFold?.(summary);
    yield { summary, found };
  }
}

const NO_INTERVALS = { resamples: 0, seed: 0 };

/** All passages of the rows: each model searches them all, as the one that is trained on all rows will. */
function passagesOf({ checked }: RowTable): readonly string[] | undefined {
  if (checked.shape === 'passage') return [...new Set(checked.rows.map(({ passage }) => passage))];
  if (checked.shape === 'passages') return [...new Set(checked.rows.flatMap(({ passages }) => passages))];
  return undefined;
}
