import * as z from 'zod';
import { invalid, type RowsOrPath } from '../../datasets/index.js';
import type { DistillEvent, DistillOptions, Teacher } from '../distill.js';
import { callback, requireUsedBase, requireUsedSize, trainSchema } from '../training/train-options.js';

/** The options of `distill`, as they are checked. */

export const distillSchema = z.lazy(() =>
  trainSchema.omit({ path: true, url: true, devFraction: true, onProgress: true, labels: true, rows: true }).extend({
    teacher: z.custom<Teacher>(isTeacher, 'give a model, a folder, a name, an array of these, or a function'),
    texts: z.custom<DistillOptions['texts']>(
      (value) => (typeof value === 'string' && value !== '') || isQueries(value),
      'give an array or an iterable of texts, or the path of a file of texts',
    ),
    rows: z
      .custom<RowsOrPath>(
        (value) => (typeof value === 'string' && value !== '') || isQueries(value),
        'give rows, or the path of a file',
      )
      .optional(),
    labels: z.array(z.string().min(1)).min(1).optional(),
    maxTexts: z.int().min(1).optional(),
    choose: z.enum(['random', 'central']).optional(),
    temperature: z.number().positive().max(100).optional(),
    answers: z.string().min(1, 'the path is empty').optional(),
    teacherName: z.string().min(1, 'the name is empty').optional(),
    concurrency: z.int().min(1).max(1000).optional(),
    textsPerCall: z.int().min(1).max(10_000).optional(),
    attempts: z.int().min(1).max(100).optional(),
    retryDelayMs: z.int().min(0).optional(),
    callTimeoutMs: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .optional(),
    curve: z.boolean().default(false),
    onProgress: callback<(event: DistillEvent) => void>().optional(),
  }),
);
export type DistillSettings = z.infer<typeof distillSchema>;

function isQueries(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function isTeacher(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && value.every((each) => typeof each !== 'function' && isTeacher(each));
  if (typeof value === 'string') return value !== '';
  return typeof value === 'function' || (typeof value === 'object' && value !== null && 'predict' in value);
}

/** @throws ValidationError for an option that would be ignored without a word */
export function requireUsed(settings: DistillSettings): void {
  const { rows, dev, test, choose, maxTexts } = settings;
  requireUsedBase(settings, ['base']);
  requireUsedSize(settings, ['size']);
  if (choose !== undefined && maxTexts === undefined) {
    throw invalid(
      ['choose'],
      'without `maxTexts`, the teacher answers all texts; give `maxTexts` too, or leave `choose` out',
    );
  }
  if (rows !== undefined || dev !== undefined || test !== undefined) return;
  for (const [name, value] of Object.entries(readingSettings(settings))) {
    if (value !== undefined)
      throw invalid([name], `applies only to \`rows\`, \`dev\` and \`test\`, and none is given; leave \`${name}\` out`);
  }
}

export function readingSettings(settings: Omit<DistillSettings, 'signal' | 'type'>) {
  const { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid } = settings;
  return { columns, format, encoding, delimiter, offsets, tagNames, skipInvalid };
}
