/** Who owns jobs and models, and what the subscription includes (docs/service.md, "Keys, accounts, tiers"). */
import * as z from 'zod';
import type { FieldsOf } from './fields.js';

/** What an account has paid for. `pro` adds batches, medleys and the training of question answering. */
export type Tier = 'basic' | 'pro';

/** Whose jobs and models these are: an account sees its own only. */
export interface Account {
  /** 1 to 50 printable ASCII characters. */
  readonly app_id: string;
  /** What it may do: {@link Tier}. */
  readonly tier: Tier;
}

export const accountSchema = z.strictObject({
  app_id: z.string().regex(/^[ -~]{1,50}$/, 'an app_id has 1 to 50 printable ASCII characters'),
  tier: z.enum(['basic', 'pro']),
} satisfies FieldsOf<Account>);

/** The account of an application that names none. */
export const LOCAL_ACCOUNT: Account = { app_id: 'local', tier: 'pro' };
