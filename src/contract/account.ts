/** Who owns jobs and models, and what the subscription includes. */
import * as z from 'zod';

export const tiers = ['basic', 'pro'] as const;
/** What an account has paid for; each tier includes those before it. */
export type Tier = (typeof tiers)[number];

export const accountSchema = z.strictObject({
  app_id: z.string().regex(/^[ -~]{1,50}$/, 'an app_id has 1 to 50 printable ASCII characters'),
  tier: z.enum(tiers),
});
/** An account sees its own jobs and models only. The pro tier adds batches, medleys and question answering. */
export type Account = z.infer<typeof accountSchema>;

/** The account of an application that names none. */
export const LOCAL_ACCOUNT: Account = { app_id: 'local', tier: 'pro' };
