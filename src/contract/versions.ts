import * as z from 'zod';
import { VERSION_NAME } from './constants.js';
import type { FieldsOf } from './validate.js';

/** Names that point to trained models: `support@production` (docs/versions.md). */

export const versionNameSchema = z
  .string()
  .regex(
    VERSION_NAME,
    'give a name and a stage with @ between them, such as support@production, each of 1 to 24 characters of a–z, 0–9 and -',
  );

/** One change of what a name points to. */
export interface VersionChange {
  readonly action: 'promote' | 'rollback';
  /** The model that the name pointed to after this change. */
  readonly model_id: string;
  /** The model that it pointed to before; null for the first. */
  readonly from: string | null;
  /** ISO 8601 with a numeric offset. */
  readonly at: string;
}

export const versionChangeSchema = z.strictObject({
  action: z.enum(['promote', 'rollback']),
  model_id: z.string(),
  from: z.string().nullable(),
  at: z.string(),
} satisfies FieldsOf<VersionChange>);

/** How often two labels were the first labels of the two answers to a query. */
export interface LabelPair {
  /** First label of the answer that was returned. */
  readonly answered: string;
  /** First label of the shadow's answer. */
  readonly shadow: string;
  readonly queries: number;
}

/**
 * How the answers of a shadow compare with those that were returned. Queries are counted; each query of a batch is one.
 */
export interface ShadowComparison {
  readonly model_id: string;
  /**
   * When the counts began, in ISO 8601: when the shadow was set or, if later, when the name was pointed to another
   * model.
   */
  readonly since: string;
  /** `agreed`, `disagreed` and `errors` together. */
  readonly asked: number;
  /**
   * Queries with the same answer: the same first label; for multilabel models, the same labels above 0.5; for entities,
   * the same entities; for questions, the same first passage.
   */
  readonly agreed: number;
  readonly disagreed: number;
  /** Queries that the shadow did not answer, because it failed or took more than 10 s. */
  readonly errors: number;
  /** Queries that were not sent to the shadow, because it or the service was busy. */
  readonly dropped: number;
  /**
   * Mean of the shadow's highest score minus the highest score that was returned. Null until both models have answered.
   */
  readonly mean_score_difference: number | null;
  /** Classification only: the most frequent first, at most 200. */
  readonly label_pairs: readonly LabelPair[];
  /** Queries with pairs beyond those 200. */
  readonly other_pairs: number;
}

/** A name that points to a trained model. */
export interface ModelVersion {
  /** Such as `support@production`. */
  readonly name: string;
  /** The model that answers. */
  readonly model_id: string;
  /** The model that a rollback returns to; null if there is none. */
  readonly previous_model_id: string | null;
  /** The last 20 changes, the latest first. */
  readonly history: readonly VersionChange[];
  readonly shadow: ShadowComparison | null;
}
