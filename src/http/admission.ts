import type { Context } from 'hono';
import type { Account } from '../contract/index.js';
import { TierError } from '../errors.js';
import type { Admission } from './admission-options.js';
import { clientNetwork } from './client-network.js';
import type { HandlerEnvironment } from './environment.js';
import { tooMany, type WrongKeyLimiter, waitAfter } from './limiters.js';
import { Refusal } from './refusal.js';
import type { Route } from './route.js';

/**
 * Whose request this is; the context then has its route and account.
 * @throws Refusal 401 without a valid key, 429 beyond the rate. @throws TierError
 */
export async function admit(
  context: Context<HandlerEnvironment>,
  route: Route,
  { authenticate, rateLimiter, wrongKeyLimiter }: Admission,
): Promise<Account> {
  context.set('route', route);
  const apiKey = context.req.header('x-api-key') ?? '';
  if (apiKey === '') throw unknownKey('send your API key in the header x-api-key', 'missing');
  const network = wrongKeyLimiter && clientNetwork(context.env.remoteAddress);
  if (network !== undefined) await refuseGuessing(network, wrongKeyLimiter);
  const account = await authenticate(apiKey);
  if (account === undefined) {
    if (wrongKeyLimiter && network !== undefined) await waitAfter(wrongKeyLimiter.consume(network));
    throw unknownKey('nobody has this API key', 'api_key');
  }
  context.set('account', account);
  const wait = rateLimiter && (await waitAfter(rateLimiter.consume(account.app_id)));
  if (wait !== undefined) throw tooMany('too many requests', 'rate_limit', wait);
  if (route.needsPro && account.tier !== 'pro') throw new TierError(`the ${route.tag}`);
  return account;
}

/** Where too many keys were wrong, right ones are refused too: else guessing would go on undisturbed. */
async function refuseGuessing(network: string, limiter: WrongKeyLimiter | undefined): Promise<void> {
  const left = await limiter?.get(network);
  if (!left || left.remainingPoints > 0) return;
  throw tooMany('too many wrong API keys came from your address', 'wrong_keys', left.msBeforeNext);
}

function unknownKey(msg: string, type: string): Refusal {
  return new Refusal(401, [{ loc: ['header', 'x-api-key'], msg, type }]);
}
