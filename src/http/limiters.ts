/**
 * What the service counts by: the limiters of rate-limiter-flexible are all of these, with stores in memory, Redis,
 * PostgreSQL, … A count rejects with `{ msBeforeNext }` beyond the limit, and with an Error where the store fails.
 */
import { Refusal } from './refusal.js';

/** Counts the requests of an account. */
export interface RateLimiter {
  consume(key: string, points?: number): Promise<unknown>;
}

/** Counts the inference calls of an account; those that were not answered are given back. */
export interface Quota extends RateLimiter {
  reward(key: string, points?: number): Promise<unknown>;
}

/** Counts the wrong API keys from an address. */
export interface WrongKeyLimiter extends RateLimiter {
  /** What is left of the limit; null where nothing has been counted. */
  get(key: string): Promise<{ readonly remainingPoints: number; readonly msBeforeNext: number } | null>;
}

/** Milliseconds until a count is possible again; undefined where it was made. @throws what isn't a limiter's refusal */
export async function waitAfter(counting: Promise<unknown>): Promise<number | undefined> {
  try {
    await counting;
    return undefined;
  } catch (thrown) {
    if (typeof thrown === 'object' && thrown !== null && 'msBeforeNext' in thrown) {
      return Number(thrown.msBeforeNext);
    }
    throw thrown;
  }
}

/** A 429 that tells when to come again. */
export function tooMany(what: string, type: string, waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const problem = { loc: ['header', 'x-api-key'], msg: `${what}; try again in ${seconds} s`, type };
  return new Refusal(429, [problem], { headers: { 'retry-after': String(seconds) } });
}
