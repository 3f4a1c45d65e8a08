import * as z from 'zod';
import { modelTypeSchema, trainingJobStatusSchema } from './enumeration-schemas.js';
import type { ModelType, TrainingJobStatus } from './enumerations.js';
import type { FieldsOf } from './validate.js';

/** Lists of jobs or models: filters and pages (docs/service.md, "Lists"). */

/** The position of a page in its list. */
export interface Pagination {
  /** Maximum number of items on this page. */
  readonly limit: number;
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** The filter's `cursor` for the next page; null on the last page. */
  readonly next_cursor: string | null;
}

export const paginationSchema: z.ZodType<Pagination> = z.strictObject({
  limit: z.int().meta({ description: 'Maximum number of items on this page.' }),
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: 'The cursor of the next page; null on the last page.' }),
} satisfies FieldsOf<Pagination>);

/** One page of a list, newest first. */
export interface Page<Item> {
  /** At most `pagination.limit`. */
  readonly data: readonly Item[];
  readonly pagination: Pagination;
}

/** Which jobs or models to list. */
export interface ListFilter {
  /** Default: all. `named-entity-recognition` and `sequence-labeling` are the same task; either finds both. */
  readonly modelType?: ModelType | undefined;
  /** Default: all but DELETED. */
  readonly trainingStatus?: TrainingJobStatus | undefined;
  /** Maximum number of items on a page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the previous page. Default: the first page. */
  readonly cursor?: string | undefined;
}

export const listFilterSchema = z.strictObject({
  modelType: modelTypeSchema.optional().meta({
    description: 'named-entity-recognition and sequence-labeling are the same task; either finds both.',
  }),
  trainingStatus: trainingJobStatusSchema
    .optional()
    .meta({ description: 'By default, all except DELETED ones are listed.' }),
  limit: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Maximum number of items on a page; 20 by default.' }),
  cursor: z
    .uuid('not a cursor of this list; pass the next_cursor of the previous page unchanged')
    .optional()
    .meta({ description: 'The next_cursor of the previous page.' }),
} satisfies FieldsOf<ListFilter>);
