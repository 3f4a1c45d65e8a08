import { err, ok, type Result } from 'neverthrow';
import type { Account } from '../contract/index.js';
import { TierError } from '../errors.js';
import type { Authenticate } from './api-keys.js';
import { clientNetwork } from './client-network.js';
import type { Connection } from './environment.js';
import { type RateLimiter, tooMany, type WrongKeyLimiter, waitAfter } from './limiters.js';
import type { Operation } from './operation.js';
import { type Place, type Refusal, refusal } from './refusal.js';

export interface Admission {
  readonly authenticate: Authenticate;
  /** Counts the requests of each account. Default: they are not limited. */
  readonly rateLimiter?: RateLimiter;
  /** Counts wrong keys by the client's address; beyond the limit no key from there is looked at. Default: no limit. */
  readonly wrongKeyLimiter?: WrongKeyLimiter;
}

/** Whether a request may go on: 401 without a valid key, 429 beyond the rate, 403 where the tier lacks the operation. */
export async function admit(
  request: Request,
  { remoteAddress }: Connection,
  { needsPro, tag, subject }: Pick<Operation, 'needsPro' | 'tag' | 'subject'>,
  admission: Admission,
): Promise<Result<Account, Refusal>> {
  const apiKey = request.headers.get('x-api-key') ?? '';
  if (apiKey === '') return err(noKey);
  const { rateLimiter, wrongKeyLimiter } = admission;
  const recognised = () => recognise(apiKey, admission.authenticate);
  const network = wrongKeyLimiter && clientNetwork(remoteAddress);
  const known =
    wrongKeyLimiter === undefined || network === undefined
      ? await recognised()
      : await unlessGuessing(network, wrongKeyLimiter, recognised);
  if (known.isErr()) return err(known.error);
  const account = known.value;
  const wait = rateLimiter && (await waitAfter(rateLimiter.consume(account.app_id)));
  if (wait !== undefined) return err(tooMany('too many requests', 'rate_limit', wait));
  if (needsPro && account.tier !== 'pro') return err(proNeeded(tag, subject));
  return ok(account);
}

async function recognise(apiKey: string, authenticate: Authenticate): Promise<Result<Account, Refusal>> {
  const account = await authenticate(apiKey);
  return account === undefined ? err(nobodysKey) : ok(account);
}

/** Where too many keys were wrong, right ones are refused too: else guessing would go on undisturbed. */
async function unlessGuessing(
  network: string,
  limiter: WrongKeyLimiter,
  recognised: () => Promise<Result<Account, Refusal>>,
): Promise<Result<Account, Refusal>> {
  const left = await limiter.get(network);
  if (left && left.remainingPoints <= 0) {
    return err(tooMany('too many wrong API keys came from your address', 'wrong_keys', left.msBeforeNext));
  }
  const known = await recognised();
  if (known.isErr()) await waitAfter(limiter.consume(network));
  return known;
}

const noKey = refusal(401, {
  loc: ['header', 'x-api-key'],
  msg: 'send your API key in the header x-api-key',
  type: 'missing',
});

const nobodysKey = refusal(401, {
  loc: ['header', 'x-api-key'],
  msg: 'nobody has this API key',
  type: 'api_key',
});

function proNeeded(tag: string, loc: Place): Refusal {
  const { message, code } = new TierError(`the ${tag}`);
  return refusal(403, { loc, msg: message, type: code });
}
