import { err, type Result, type ResultAsync } from 'neverthrow';
import type { Account } from '../contract/index.js';
import { type Quota, tooMany, waitAfter } from './limiters.js';
import type { Refusal } from './refusal.js';

/** Answers where the account has so many inference calls left, else a 429. What is not answered costs nothing. */
export async function withinQuota<Answer>(
  quota: Quota | undefined,
  { app_id }: Account,
  calls: number,
  answer: () => ResultAsync<Answer, Refusal>,
): Promise<Result<Answer, Refusal>> {
  if (quota === undefined || calls === 0) return answer();
  const wait = await waitAfter(quota.consume(app_id, calls));
  // The library's limiters count what they refuse, too.
  if (wait !== undefined) {
    await quota.reward(app_id, calls);
    return err(tooMany('the inference calls of this account are used up', 'quota', wait));
  }
  const answered = await answer();
  if (answered.isErr() && answered.error.data === undefined) await quota.reward(app_id, calls);
  return answered;
}
