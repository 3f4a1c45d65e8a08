import { fileURLToPath } from 'node:url';
import leven from 'leven';
import * as z from 'zod';
import {
  DEVICES,
  EFFORTS,
  implementation,
  type ModelSize,
  modelSizes,
  modelTypeSchema,
  requireOptions,
  signalSchema,
  validate,
} from '../../contract/index.js';
import { invalid, type Rows, readingShape } from '../../datasets/index.js';
import { type TrainingEvent, tuningSchema } from '../../jobs/index.js';
import type { ModelLoader } from '../../models/index.js';
import { isLanguage, languageNames, type Tuning } from '../../training/index.js';
import { rulesSchema } from '../rules.js';

const path = z.string().min(1, 'the path is empty').optional();
const rows = z.custom<Rows>((value) => typeof value === 'object' && value !== null, {
  error: 'give an array or an iterable of rows',
});
const label = z.string().refine((name) => name.trim() !== '', 'a label is empty');
const labels = z.union([z.array(label), z.record(label, z.string())], {
  error: 'give an array of names, or an object that maps each label to what it means',
});
const rowsOrPath = z.union([z.string().min(1, 'the path is empty'), rows]);
function unknownLanguage(written: string): string {
  const [nearest] = languageNames().toSorted(
    (a, b) => leven(a, written.toLowerCase()) - leven(b, written.toLowerCase()),
  );
  return `${JSON.stringify(written)} is not a known language; give its English name or its code, such as ${nearest} or en-GB`;
}

export const trainSchema = z.strictObject({
  rows: rows.optional(),
  path,
  url: z.string().min(1, 'the URL is empty').optional(),
  ...readingShape,
  labels: labels.optional(),
  positive: label.optional(),
  passages: z.custom<Iterable<string>>(isIterable, { error: 'give an array of texts' }).optional(),
  type: modelTypeSchema.optional(),
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,24}$/, 'give 1 to 24 characters of a–z, 0–9 and "-"')
    .optional(),
  base: z.string().min(1, 'the name is empty').optional(),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  size: z.enum(modelSizes).optional(),
  output: path,
  dev: rowsOrPath.optional(),
  devFraction: z.number().gt(0).lt(1).optional(),
  test: rowsOrPath.optional(),
  epochs: z.int().min(1).max(1000).optional(),
  learningRate: z.number().positive().max(1).optional(),
  batchSize: z.int().min(1).max(1024).optional(),
  language: z
    .string()
    .min(1)
    .max(40)
    .refine(isLanguage, { error: ({ input }) => unknownLanguage(String(input)) })
    .optional(),
  lowercase: z.boolean().optional(),
  augment: z.boolean().optional(),
  pretrained: z.boolean().optional(),
  effort: z.enum(EFFORTS).optional(),
  rules: rulesSchema.optional(),
  tuning: (tuningSchema satisfies z.ZodType<Tuning>).optional(),
  seed: z.int32().default(0),
  device: z.enum(DEVICES).default('cpu'),
  threads: z.int().min(1).optional(),
  memoryLimit: z.int().min(1).optional(),
  isolation: z.enum(['worker', 'process', 'inline']).default('worker'),
  onProgress: callback<(event: TrainingEvent) => void>().optional(),
  signal: signalSchema.optional(),
});

export type TrainSettings = Omit<z.infer<typeof trainSchema>, 'size'> & {
  readonly size: ModelSize;
  readonly source: TrainSource;
  /** Whether the encoder is trained for epochs however few the rows are. Default false. */
  readonly trainsEncoder?: boolean;
  /**
   * Whether the rows were read earlier: the places of their entities are in UTF-16 code units, and the options for files
   * are those of that time. Default false.
   */
  readonly hasReadRows?: boolean | undefined;
};

type TrainSource =
  | { readonly kind: 'rows'; readonly rows: Rows }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'labels'; readonly labels: LabelNames };

/** The labels of a classifier, and what they mean where that was said. */
export interface LabelNames {
  readonly names: readonly string[];
  readonly descriptions: Readonly<Record<string, string>>;
}

export function labelNames(labels: NonNullable<z.infer<typeof trainSchema>['labels']>): LabelNames {
  if (Array.isArray(labels)) return { names: labels, descriptions: {} };
  const told = Object.entries(labels).filter(([, description]) => description.trim() !== '');
  return { names: Object.keys(labels), descriptions: Object.fromEntries(told) };
}

/** @throws ValidationError */
export function trainSettings(options: unknown): TrainSettings {
  return settingsFrom(validate(trainSchema, requireOptions(options ?? {}, '`train({ rows })`')));
}

/**
 * Options that were checked, with what they say to train on.
 * @throws ValidationError unless they say one thing, and for a `base`, `size` or `devFraction` that would not be used
 */
export function settingsFrom(options: z.infer<typeof trainSchema>): TrainSettings {
  requireUsedBase(options, ['base']);
  requireUsedSize(options, ['size']);
  if (options.dev !== undefined && options.devFraction !== undefined) {
    throw invalid(['devFraction'], 'has no effect with `dev`; leave one of them out');
  }
  return { ...options, size: options.size ?? DEFAULT_SIZE, source: sourceOf(options) };
}

const DEFAULT_SIZE: ModelSize = 'mini';

/** @param at where the option `base` is, for errors. @throws ValidationError for a base that random weights replace */
export function requireUsedBase(
  { base, pretrained }: { readonly base?: unknown; readonly pretrained?: boolean | undefined },
  at: readonly string[],
): void {
  if (base === undefined || pretrained !== false) return;
  throw invalid(at, 'has no effect with `pretrained: false`, which starts from random weights; leave one of them out');
}

/** @param at where the option `size` is, for errors. @throws ValidationError for a size next to a base, which has its own */
export function requireUsedSize(
  { base, size }: { readonly base?: unknown; readonly size?: unknown },
  at: readonly string[],
): void {
  if (base === undefined || size === undefined) return;
  throw invalid(at, 'has no effect with `base`, which has its own size; leave one of them out');
}

export function callback<Call>() {
  return z.custom<Call>((value) => typeof value === 'function', { error: 'give a function' });
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

const isFileUrl = (place: string): boolean => /^file:\/\//iu.test(place);

/** The path that a `file:` URL names; any other text is a path itself. @throws ValidationError */
function localPath(place: string, option: string): string {
  if (!isFileUrl(place)) return place;
  try {
    return fileURLToPath(place);
  } catch {
    throw invalid([option], `${place} is not a file on this machine; give a path`);
  }
}

function sourceOf({ rows, path, url, labels }: z.infer<typeof trainSchema>): TrainSource {
  const given = [rows, path, url].filter((each) => each !== undefined).length;
  if (given === 1 && rows !== undefined) return { kind: 'rows', rows };
  if (given === 1 && path !== undefined) return { kind: 'path', path: localPath(path, 'path') };
  if (given === 1 && url !== undefined) {
    return isFileUrl(url) ? { kind: 'path', path: localPath(url, 'url') } : { kind: 'url', url };
  }
  if (given === 0 && labels !== undefined) return { kind: 'labels', labels: labelNames(labels) };
  const what = given === 0 ? 'nothing to train on' : 'several sources of rows';
  throw invalid(['rows'], `${what}; give one of \`rows\`, \`path\` and \`url\`, or only \`labels\``);
}
