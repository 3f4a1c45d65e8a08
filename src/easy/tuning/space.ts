/** What a search may try. */
import * as z from 'zod';
import { type ModelSize, modelSizes } from '../../contract/index.js';
import { tuningSchema } from '../../jobs/index.js';
import type { AdapterTuning } from '../../training/index.js';

/** Any number from `min` to `max`. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** `log`: each factor is as likely as any other, as learning rates want it. Default `linear`. */
  readonly scale?: 'linear' | 'log' | undefined;
}

/** The values that a search may take for each setting: those of a list, or any of a range. Others keep their defaults. */
export interface SearchSpace {
  readonly learningRate?: NumberRange | readonly number[] | undefined;
  readonly batchSize?: NumberRange | readonly number[] | undefined;
  /** Most epochs of a training in full. */
  readonly epochs?: NumberRange | readonly number[] | undefined;
  /** Not for question answering, which has none. */
  readonly labelSmoothing?: NumberRange | readonly number[] | undefined;
  readonly tokenDropout?: NumberRange | readonly number[] | undefined;
  /** Not for question answering, which has none. */
  readonly classWeights?: readonly ('none' | 'balanced')[] | undefined;
  readonly augment?: readonly boolean[] | undefined;
  readonly lowercase?: readonly boolean[] | undefined;
  readonly size?: readonly ModelSize[] | undefined;
  /** What training starts from, as the option `base`. */
  readonly base?: readonly string[] | undefined;
  readonly adapters?: readonly (AdapterTuning | 'none')[] | undefined;
  readonly freeze?: readonly ('embeddings' | number | 'nothing')[] | undefined;
}

/** What a trial has in place of the defaults. */
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

/** A setting that can be searched. */
export type SettingName = keyof SearchSpace;

/** A list of values, or a range of numbers within the limits of one value. */
function numbers(value: z.ZodNumber) {
  const range = z
    .strictObject({ min: value, max: value, scale: z.enum(['linear', 'log']).optional() })
    .refine(({ min, max }) => min <= max, 'min is above max')
    .refine(({ min, scale }) => scale !== 'log' || min > 0, 'a range on a log scale begins above 0');
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

/** A space that has been checked. */
export type CheckedSpace = z.infer<typeof spaceSchema>;

export const settingNames: readonly SettingName[] = spaceSchema.keyof().options;

/** The settings that a space leaves open. */
export function searchedSettings(space: CheckedSpace): readonly SettingName[] {
  return settingNames.filter((name) => space[name] !== undefined);
}
