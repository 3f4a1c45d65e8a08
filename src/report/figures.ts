import { type ClassNames, familyOfModel, macroF1Of } from '../families/index.js';
import {
  CONFIG_FILE,
  type ModelFolderConfig,
  type ModelReport,
  type RecordedPart,
  type TrainingRecord,
} from '../models/index.js';

/** The content of a model folder, and what the job's record adds. */
export interface ReportInput extends ModelReport {
  readonly id?: string;
  readonly created?: string;
}

/** @throws ModelFolderError if its family is unknown */
export function classNames(config: ModelFolderConfig): ClassNames {
  return familyOfModel(config, CONFIG_FILE).classNames(config);
}

/** 0.9134 as `91.3 %`. */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export const decimal = (value: number, digits = 3): string => value.toFixed(digits);

export const whole = (value: number): string => value.toLocaleString('en-US');

/** `3 rows`, `1 row`. */
export const counted = (count: number, noun: string): string => `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `labelSmoothing` and `batch_size` as words: `label smoothing`, `batch size`. */
export const asWords = (name: string): string =>
  name.replace(/_/g, ' ').replace(/(?<=[a-z])[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);

export interface NamedFigure {
  readonly name: string;
  readonly value: string;
}

/** The figures that the part has. @param nameOfF1 from {@link f1Name} */
export function scoresOf({ accuracy, f1, topk }: RecordedPart, nameOfF1 = 'F1'): NamedFigure[] {
  return [
    ...(accuracy === undefined ? [] : [{ name: 'accuracy', value: percent(accuracy) }]),
    ...(f1 === undefined ? [] : [{ name: nameOfF1, value: percent(f1) }]),
    ...Object.entries(topk ?? {}).map(([k, share]) => ({ name: `top ${k}`, value: percent(share) })),
  ];
}

/** What the F1 of a training run is of: one of two labels, the mean of the labels, or entities. */
export function f1Name(report: Pick<ReportInput, 'config' | 'training'>): string {
  const positive = positiveLabel(report);
  if (positive !== undefined) return `F1 of "${positive}"`;
  return report.config.orchard.family === 'Papaya' ? 'macro F1' : 'F1';
}

/** Pretrained models whose training.json lacks it have the F1 of the second label. */
function positiveLabel({
  config: { orchard },
  training,
}: Pick<ReportInput, 'config' | 'training'>): string | undefined {
  return training.positive ?? (orchard.type === 'binary-text-classification' ? orchard.labels[1] : undefined);
}

/** The mean F1 of two labels, where the figures of the parts are of one of them. */
export function macroF1({ evaluation, ...report }: ReportInput): NamedFigure[] {
  if (positiveLabel(report) === undefined || evaluation?.classes === undefined) return [];
  return [{ name: 'macro F1', value: percent(macroF1Of(evaluation)) }];
}

/** Their blend last; empty if the training recorded no such figures. */
export function partsOf({ parts }: TrainingRecord): { name: string; figures: RecordedPart }[] {
  if (parts === undefined) return [];
  return [
    { name: 'Encoder alone', figures: parts.encoder },
    { name: 'Lexical expert alone', figures: parts.expert },
    { name: 'Blend of both', figures: parts.blend },
  ];
}

interface JudgedRows {
  /** What the rows are called: `dev`. */
  readonly name: string;
  readonly rows?: number | undefined;
  /** How the figures were measured, and what to expect. */
  readonly note: string;
}

/** The rows that the figures of a training run are measured on. */
export function judgedRows({ training, evaluation }: Pick<ReportInput, 'training' | 'evaluation'>): JudgedRows {
  const { dataset } = training;
  if (dataset?.train_rows === 0)
    return {
      name: 'none',
      note: 'It was made from the names or meanings of its labels, without rows, so nothing was measured.',
    };
  if (dataset?.folds === undefined) {
    const chosen = hasEpochs(training) ? 'the best epoch, ' : '';
    const note = `Measured on the dev rows, which also chose ${chosen}the weights of the two experts and the thresholds: expect slightly lower figures on new texts.`;
    return { name: 'dev', rows: dataset?.dev_rows ?? evaluation?.rows, note };
  }
  const by =
    dataset.folds === 1
      ? 'a share of the training rows, with a model that was trained without them'
      : `the training rows, in ${dataset.folds} folds: each row with a model that was trained without it`;
  const note = `Measured on ${by}. The model itself was trained on all rows. With few rows, figures on new texts may well be higher or lower.`;
  return { name: 'cross-validated', rows: dataset.judged_rows, note };
}

/** How many rules answer before the model, and whether the figures include them; undefined if there are none. */
export function rulesNote(
  { orchard }: ModelFolderConfig,
  training?: Pick<TrainingRecord, 'rules'>,
): string | undefined {
  const { rules } = orchard;
  if (rules === undefined) return undefined;
  const answers = `${counted(rules, 'rule')} (rules.json) ${rules === 1 ? 'answers' : 'answer'} before the model.`;
  const measured = training?.rules;
  if (measured === rules) return `${answers} The figures of the blend include their answers.`;
  const without = measured === undefined ? 'without rules' : `with ${counted(measured, 'rule')}`;
  return `${answers} The figures were measured ${without}.`;
}

/** Whether epochs of training were evaluated; a model from few rows has none. */
export function hasEpochs({ hyperparameters }: TrainingRecord): boolean {
  return !('trainedEncoder' in hyperparameters);
}
