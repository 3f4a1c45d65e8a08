import type { Authenticate } from './api-keys.js';
import type { RateLimiter, WrongKeyLimiter } from './limiters.js';

/** Who is let in. */
export interface Admission {
  readonly authenticate: Authenticate;
  /** Counts the requests of each account. Default: they are not limited. */
  readonly rateLimiter?: RateLimiter;
  /** Counts wrong keys by the client's address; beyond the limit no key from there is looked at. Default: no limit. */
  readonly wrongKeyLimiter?: WrongKeyLimiter;
}
