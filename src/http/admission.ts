import { err, ok, type Result } from 'neverthrow';
import type { Account } from '../contract/index.js';
import { TierError } from '../errors.js';
import type { Authenticate } from './api-keys.js';
import type { Operation } from './operation.js';
import { type Place, type Refusal, refusal } from './refusal.js';

/**
 * Counts the requests of an account; the limiters of rate-limiter-flexible are such, in memory, Redis, PostgreSQL, …
 * Rejects with `{ msBeforeNext }` beyond the limit, with an Error where its store fails.
 */
export interface RateLimiter {
  consume(key: string): Promise<unknown>;
}

export interface Admission {
  readonly authenticate: Authenticate;
  readonly rateLimiter?: RateLimiter;
}

/** Whether a request may go on: 401 without a valid key, 429 beyond the rate, 403 where the tier lacks the operation. */
export async function admit(
  request: Request,
  { needsPro, tag, subject }: Operation,
  { authenticate, rateLimiter }: Admission,
): Promise<Result<Account, Refusal>> {
  const apiKey = request.headers.get('x-api-key') ?? '';
  const account = apiKey === '' ? undefined : await authenticate(apiKey);
  if (account === undefined) return err(unauthorized(apiKey));
  const wait = await rateLimiter?.consume(account.app_id).then(() => undefined, millisecondsLeft);
  if (wait !== undefined) return err(tooManyRequests(wait));
  if (needsPro && account.tier !== 'pro') return err(proNeeded(tag, subject));
  return ok(account);
}

/** @throws what isn't a limiter's refusal */
function millisecondsLeft(thrown: unknown): number {
  if (typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown) {
    return Number(thrown.msBeforeNext);
  }
  throw thrown;
}

function unauthorized(apiKey: string): Refusal {
  const msg = apiKey === '' ? 'send your API key in the header x-api-key' : 'nobody has this API key';
  const type = apiKey === '' ? 'missing' : 'api_key';
  return refusal(401, { loc: ['header', 'x-api-key'], msg, type });
}

function proNeeded(tag: string, loc: Place): Refusal {
  const { message, code } = new TierError(`the ${tag}`);
  return refusal(403, { loc, msg: message, type: code });
}

function tooManyRequests(wait: number): Refusal {
  const seconds = Math.ceil(wait / 1000);
  const msg = `too many requests; try again in ${seconds} s`;
  const problem = { loc: ['header', 'x-api-key'], msg, type: 'rate_limit' };
  return refusal(429, problem, { 'retry-after': String(seconds) });
}
