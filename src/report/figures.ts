import type { RecordedPart, TrainingRecord } from '../model-folder/index.js';

/** 0.9134 as `91.3 %`. */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export const decimal = (value: number, digits = 3): string => value.toFixed(digits);

export const whole = (value: number): string => value.toLocaleString('en-US');

/** `3 rows`, `1 row`. */
export const counted = (count: number, noun: string): string =>
  `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `labelSmoothing` and `batch_size` as words: `label smoothing`, `batch size`. */
export const asWords = (name: string): string =>
  name.replace(/_/g, ' ').replace(/(?<=[a-z])[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);

/** A figure as it is shown. */
export interface NamedFigure {
  readonly name: string;
  readonly value: string;
}

/** Those of accuracy, F1 and top-k that the part has. */
export function scoresOf({ accuracy, f1, topk }: RecordedPart): NamedFigure[] {
  return [
    ...(accuracy === undefined ? [] : [{ name: 'accuracy', value: percent(accuracy) }]),
    ...(f1 === undefined ? [] : [{ name: 'F1', value: percent(f1) }]),
    ...Object.entries(topk ?? {}).map(([k, share]) => ({ name: `top ${k}`, value: percent(share) })),
  ];
}

export interface NamedPart {
  readonly name: string;
  readonly figures: RecordedPart;
}

/** Encoder, lexical expert and, last, their blend; none if the run recorded no such figures. */
export function partsOf({ parts }: TrainingRecord): NamedPart[] {
  if (parts === undefined) return [];
  return [
    { name: 'Encoder alone', figures: parts.encoder },
    { name: 'Lexical expert alone', figures: parts.expert },
    { name: 'Blend of both', figures: parts.blend },
  ];
}

/** The note beside figures that are measured on dev rows. */
export const FLATTERED =
  'Measured on the dev rows, which also chose the best epoch, the weights of the two experts and the thresholds: expect slightly less on new texts.';
