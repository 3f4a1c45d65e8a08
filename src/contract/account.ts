import * as z from 'zod';
import type { FieldsOf } from './validate.js';

/** Accounts, which own jobs and models, and their tiers (docs/service.md, "Keys, accounts, tiers"). */

/** The subscription of an account. `pro` adds batches, medleys and training for question answering. */
export type Tier = 'basic' | 'pro';

/** The owner of jobs and models. An account sees only its own. */
export interface Account {
  /** 1 to 50 printable ASCII characters. */
  readonly app_id: string;
  readonly tier: Tier;
}

export const accountSchema = z.strictObject({
  app_id: z.string().regex(/^[ -~]{1,50}$/, 'an app_id has 1 to 50 printable ASCII characters'),
  tier: z.enum(['basic', 'pro']),
} satisfies FieldsOf<Account>);

/** The default account. */
export const LOCAL_ACCOUNT: Account = { app_id: 'local', tier: 'pro' };
