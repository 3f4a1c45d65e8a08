import type { Account } from '../contract/index.js';
import { type Quota, tooMany, waitAfter } from './limiters.js';
import { hasAnswers } from './refusal.js';

/**
 * Answers where the account has so many inference calls left. What is not answered costs nothing.
 * @throws Refusal 429 where it has not
 */
export async function withinQuota<Answer>(
  quota: Quota | undefined,
  { app_id }: Account,
  calls: number,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (quota === undefined || calls === 0) return answer();
  const wait = await waitAfter(quota.consume(app_id, calls));
  try {
    if (wait === undefined) return await answer();
    throw tooMany('the inference calls of this account are used up', 'quota', wait);
  } catch (thrown) {
    // The library's limiters count what they refuse, too.
    if (!hasAnswers(thrown)) await quota.reward(app_id, calls);
    throw thrown;
  }
}
