import type { Context } from 'hono';
import ipaddr from 'ipaddr.js';
import { type Account, TierError } from '../contract/index.js';
import type { Authenticate } from './api-keys.js';
import { Refusal } from './refusal.js';
import type { HandlerEnvironment, Route } from './route.js';
import type { OperatorServices } from './services.js';

/** Who may use the service, and how often. */
export interface Admission {
  readonly authenticate: Authenticate;
  /** Counts the requests of each account. Default: no limit. */
  readonly rateLimiter?: RateLimiter;
  /**
   * Counts wrong keys per client address. Beyond the limit, keys from this address are not checked. Default: no limit.
   */
  readonly wrongKeyLimiter?: WrongKeyLimiter;
}

/** Access to the operator's routes over HTTP. Both are needed for the routes to exist. */
export interface OperatorAccess {
  /** The operator of a key. Keys of accounts are not valid for operators, and vice versa. Default: no operator. */
  readonly authenticateOperator?: Authenticate;
  /** As returned by `accountServices`. */
  readonly operator?: OperatorServices;
}

/**
 * Counts the requests of an account. You can use the limiters of rate-limiter-flexible, with stores in memory, Redis,
 * PostgreSQL and more: `consume` rejects with `{ msBeforeNext }` beyond the limit, and with an Error if the store
 * fails.
 */
export interface RateLimiter {
  consume(key: string, points?: number): Promise<unknown>;
}

/** Counts the wrong API keys from an address. */
export interface WrongKeyLimiter extends RateLimiter {
  /** What is left of the limit; null if nothing was counted yet. */
  get(key: string): Promise<{ readonly remainingPoints: number; readonly msBeforeNext: number } | null>;
}

/** Milliseconds until the next count is possible; undefined if this one was. @throws errors of the limiter's store */
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

export function tooMany(problem: string, type: string, waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const detail = [{ loc: ['header', 'x-api-key'], msg: `${problem}; try again in ${seconds} s`, type }];
  return new Refusal(429, detail, { headers: { 'retry-after': String(seconds) } });
}

/**
 * Finds the account of a request, and stores it and the route in the context.
 * @throws Refusal 401 without a valid key, 429 beyond a limit. @throws TierError
 */
export async function admit(
  context: Context<HandlerEnvironment>,
  route: Route,
  { authenticate, rateLimiter, wrongKeyLimiter, authenticateOperator }: Admission & OperatorAccess,
): Promise<Account> {
  context.set('route', route);
  const isOperator = route.tag === 'operator';
  const apiKey = context.req.header('x-api-key') ?? '';
  if (apiKey === '') throw unknownKey('send your API key in the header x-api-key', 'missing');
  const network = wrongKeyLimiter && networkOf(context.env.remoteAddress);
  const left = network === undefined ? null : await wrongKeyLimiter?.get(network);
  // After too many wrong keys, valid ones are refused too: otherwise the guessing could go on.
  if (left && left.remainingPoints <= 0)
    throw tooMany('too many wrong API keys came from your address', 'wrong_keys', left.msBeforeNext);
  const account = await (isOperator ? authenticateOperator?.(apiKey) : authenticate(apiKey));
  if (account === undefined) {
    if (wrongKeyLimiter && network !== undefined) await waitAfter(wrongKeyLimiter.consume(network));
    throw unknownKey("this API key isn't valid", 'api_key');
  }
  context.set('account', account);
  if (isOperator) return account;
  const wait = rateLimiter && (await waitAfter(rateLimiter.consume(account.app_id)));
  if (wait !== undefined) throw tooMany('too many requests', 'rate_limit', wait);
  if (route.needsPro && account.tier !== 'pro') throw new TierError(`the ${route.tag}`);
  return account;
}

function unknownKey(msg: string, type: string): Refusal {
  return new Refusal(401, [{ loc: ['header', 'x-api-key'], msg, type }]);
}

/** The first four of the eight parts of an IPv6 address name a network; its owner has every address in it. */
const NETWORK_PARTS = 4;

/** What wrong keys are counted by: an IPv4 address, or an IPv6 network. Undefined for an invalid address. */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, NETWORK_PARTS);
  return network.map((part) => part.toString(16)).join(':');
}

/**
 * The client of a request that came through a proxy: the last address in x-forwarded-for, which the proxy added. Earlier
 * ones may be invented by the client. Undefined for an invalid address.
 */
export function forwardedAddress(header: string | null): string | undefined {
  const last = header?.split(',').at(-1)?.trim() ?? '';
  return ipaddr.isValid(last) ? last : undefined;
}
