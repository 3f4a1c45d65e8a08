import * as z from 'zod';
import { type ModelSize, modelSizes } from '../contract/index.js';
import { tuningSchema } from '../jobs/index.js';
import type { Random } from '../system/index.js';
import type { AdapterTuning } from '../training/index.js';
import type { TrainSettings } from './training/train-options.js';

/** Any number from `min` to `max`. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** `log`: every factor is equally likely, which suits learning rates. Default `linear`. */
  readonly scale?: 'linear' | 'log' | undefined;
}

/**
 * The values to try for each setting: an array of values, or a range of numbers. Settings that are left out keep their
 * defaults.
 */
export interface SearchSpace {
  readonly learningRate?: NumberRange | readonly number[] | undefined;
  readonly batchSize?: NumberRange | readonly number[] | undefined;
  /** The maximum number of epochs of a full run. */
  readonly epochs?: NumberRange | readonly number[] | undefined;
  /** Not for question answering, which has no labels. */
  readonly labelSmoothing?: NumberRange | readonly number[] | undefined;
  readonly tokenDropout?: NumberRange | readonly number[] | undefined;
  /** Not for question answering, which has no labels. */
  readonly classWeights?: readonly ('none' | 'balanced')[] | undefined;
  readonly augment?: readonly boolean[] | undefined;
  readonly lowercase?: readonly boolean[] | undefined;
  readonly size?: readonly ModelSize[] | undefined;
  /** The models to start from, as in the option `base`. */
  readonly base?: readonly string[] | undefined;
  readonly adapters?: readonly (AdapterTuning | 'none')[] | undefined;
  readonly freeze?: readonly ('embeddings' | number | 'nothing')[] | undefined;
}

/** The settings of a trial that replace the defaults. */
export interface TrialSettings {
  readonly learningRate?: number;
  readonly batchSize?: number;
  readonly epochs?: number;
  readonly labelSmoothing?: number;
  readonly tokenDropout?: number;
  readonly classWeights?: 'none' | 'balanced';
  readonly augment?: boolean;
  readonly lowercase?: boolean;
  readonly size?: ModelSize;
  readonly base?: string;
  readonly adapters?: AdapterTuning | 'none';
  readonly freeze?: 'embeddings' | number | 'nothing';
}

/** A list of values, or a range of numbers, within the limits of a single value. */
function numbers(value: z.ZodNumber) {
  const range = z
    .strictObject({ min: value, max: value, scale: z.enum(['linear', 'log']).optional() })
    .refine(({ min, max }) => min <= max, 'min is above max')
    .refine(({ min, scale }) => scale !== 'log' || min > 0, 'a range on a log scale must start above 0');
  return z.union([z.array(value).min(1, 'give at least one value'), range]).optional();
}

function choices<Value extends z.ZodType>(value: Value) {
  return z.array(value).min(1, 'give at least one value').optional();
}

const { adapters, freeze } = tuningSchema.shape;

export const spaceSchema = z.strictObject({
  learningRate: numbers(z.number().positive().max(1)),
  batchSize: numbers(z.int().min(1).max(1024)),
  epochs: numbers(z.int().min(1).max(1000)),
  labelSmoothing: numbers(z.number().min(0).lt(1)),
  tokenDropout: numbers(z.number().min(0).lt(1)),
  classWeights: choices(z.enum(['none', 'balanced'])),
  augment: choices(z.boolean()),
  lowercase: choices(z.boolean()),
  size: choices(z.enum(modelSizes)),
  base: choices(z.string().min(1, 'the name is empty')),
  adapters: choices(z.union([z.literal('none'), adapters.unwrap()])),
  freeze: choices(z.union([z.literal('nothing'), freeze.unwrap()])),
}) satisfies z.ZodType<SearchSpace>;

export type CheckedSpace = z.infer<typeof spaceSchema>;

type SettingName = keyof SearchSpace;

/** A setting of the space that the training options already fix; undefined if there is none. */
export function fixedSetting(space: CheckedSpace, settings: GivenSettings): SettingName | undefined {
  const fixed = fixedSettings(settings);
  return spaceSchema.keyof().options.find((name) => space[name] !== undefined && fixed.has(name));
}

type GivenSettings = Omit<TrainSettings, 'size'> & { readonly size?: ModelSize | undefined };

function fixedSettings(settings: GivenSettings): ReadonlySet<string> {
  const { learningRate, batchSize, epochs, augment, lowercase, size, base, tuning } = settings;
  const given = { ...tuning, learningRate, batchSize, epochs, augment, lowercase, size, base };
  return new Set(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name])));
}

interface DefaultSettings {
  readonly learningRate: number;
  readonly batchSize: number;
  readonly rows: number;
  /** False for question answering. */
  readonly hasLabels: boolean;
}

/** Learning rates are tried up to this factor below and above the default. */
const RATE_FACTOR = 4;
/** Augmentation is tried below this number of rows, since it is made for small datasets. */
const SMALL_DATASET = 2000;

/** A space around the defaults, without the settings that the training options fix. */
export function defaultSpace(defaults: DefaultSettings, settings: TrainSettings): CheckedSpace {
  const { learningRate, batchSize, rows, hasLabels } = defaults;
  const sizes = [batchSize / 2, batchSize, 2 * batchSize].map(Math.round);
  const space: CheckedSpace = {
    learningRate: { min: learningRate / RATE_FACTOR, max: Math.min(1, learningRate * RATE_FACTOR), scale: 'log' },
    batchSize: sizes.filter((size) => size === batchSize || (size >= 4 && size <= rows && size <= 1024)),
    tokenDropout: [0, 0.05, 0.1, 0.15, 0.25],
    ...(hasLabels && { labelSmoothing: [0, 0.05, 0.1, 0.2], classWeights: ['none', 'balanced'] }),
    ...(rows < SMALL_DATASET && { augment: [false, true] }),
  };
  const fixed = fixedSettings(settings);
  return Object.fromEntries(Object.entries(space).filter(([name]) => !fixed.has(name)));
}

/** Attempts before a space counts as used up. */
const MAX_ATTEMPTS = 200;

/**
 * Draws settings at random, which is at least as good as a grid of the same size (Bergstra & Bengio 2012).
 * @param drawn the keys of earlier draws; the new key is added.
 * @returns settings that were not drawn before; undefined once none seem to be left.
 */
export function drawSettings(space: CheckedSpace, random: Random, drawn: Set<string>): TrialSettings | undefined {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const settings = drawOnce(space, random);
    const key = JSON.stringify(settings);
    if (drawn.has(key)) continue;
    drawn.add(key);
    return settings;
  }
  return undefined;
}

function drawOnce(space: CheckedSpace, random: Random): TrialSettings {
  const { learningRate, batchSize, epochs, labelSmoothing, tokenDropout } = space;
  const { classWeights, augment, lowercase, size, base, adapters, freeze } = space;
  const pick = <Value>(values: readonly Value[]) => values[random.integer(values.length)];
  const number = (values: NumberRange | readonly number[], round: (value: number) => number) => {
    if (!('min' in values)) return pick(values);
    const { min, max, scale } = values;
    const share = random.uniform();
    const value = scale === 'log' ? min * (max / min) ** share : min + share * (max - min);
    return Math.min(max, Math.max(min, round(value)));
  };
  const settings = {
    learningRate: learningRate && number(learningRate, twoDigits),
    batchSize: batchSize && number(batchSize, Math.round),
    epochs: epochs && number(epochs, Math.round),
    labelSmoothing: labelSmoothing && number(labelSmoothing, twoDigits),
    tokenDropout: tokenDropout && number(tokenDropout, twoDigits),
    classWeights: classWeights && pick(classWeights),
    augment: augment && pick(augment),
    lowercase: lowercase && pick(lowercase),
    size: size && pick(size),
    base: base && pick(base),
    adapters: adapters && pick(adapters),
    freeze: freeze && pick(freeze),
  } satisfies { readonly [Name in SettingName]: TrialSettings[Name] | undefined };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** Two significant digits: more make no difference to training, and tables are easier to read. */
function twoDigits(value: number): number {
  return Number(value.toPrecision(2));
}
