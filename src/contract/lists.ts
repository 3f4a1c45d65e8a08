/** Which jobs or models a listing has, and its pages (docs/service.md, "Lists"). */
import * as z from 'zod';
import { modelTypeSchema, trainingJobStatusSchema } from './enumeration-schemas.js';
import type { ModelType, TrainingJobStatus } from './enumerations.js';
import type { FieldsOf } from './fields.js';

/** Where a page stands in its listing. */
export interface Pagination {
  /** The most items that this page may have. */
  readonly limit: number;
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Asks for the next page, as the filter's `cursor`; null on the last. */
  readonly next_cursor: string | null;
}

export const paginationSchema: z.ZodType<Pagination> = z.strictObject({
  limit: z.int().meta({ description: 'Most items of this page.' }),
  has_more: z.boolean(),
  next_cursor: z.string().nullable().meta({ description: 'What asks for the next page; null on the last.' }),
} satisfies FieldsOf<Pagination>);

/** One page of a listing, newest first. */
export interface Page<Item> {
  /** At most `pagination.limit`. */
  readonly data: readonly Item[];
  /** Where this page stands. */
  readonly pagination: Pagination;
}

/** Which jobs or models to list. */
export interface ListFilter {
  /** Default: all. named-entity-recognition and sequence-labeling name one task; either finds both. */
  readonly modelType?: ModelType | undefined;
  /** Default: all but DELETED. */
  readonly trainingStatus?: TrainingJobStatus | undefined;
  /** The most items of a page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
}

export const listFilterSchema = z.strictObject({
  modelType: modelTypeSchema.optional().meta({
    description: 'named-entity-recognition and sequence-labeling name one task; either finds both.',
  }),
  trainingStatus: trainingJobStatusSchema
    .optional()
    .meta({ description: 'Without it, all but those that are DELETED are listed.' }),
  limit: z.int().min(1).max(100).optional().meta({ description: 'Most items of a page; 20 unless given.' }),
  cursor: z
    .uuid('not a cursor of this listing; pass the next_cursor of the page before as it came')
    .optional()
    .meta({ description: 'The next_cursor of the page before.' }),
} satisfies FieldsOf<ListFilter>);
