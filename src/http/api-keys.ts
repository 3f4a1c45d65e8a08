import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { type Account, accountSchema, type FieldsOf, validate } from '../contract/index.js';
import { ValidationError } from '../errors.js';

/** Whose an API key is; undefined for a key of nobody. */
export type Authenticate = (apiKey: string) => Account | undefined | Promise<Account | undefined>;

/** A key as it is kept, and whose it is. */
export interface StoredKey extends Account {
  /** Of the key, in 64 hexadecimal digits. */
  readonly sha256: string;
}

const storedKeySchema = z.strictObject({
  ...accountSchema.shape,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'give the SHA-256 of the key as 64 hexadecimal digits'),
} satisfies FieldsOf<StoredKey>);

const storedKeysSchema = z
  .array(storedKeySchema)
  .min(1, 'there is no key; "orchard new-key" makes one')
  .superRefine((keys, context) => {
    const tiers = new Map<string, string>();
    for (const [at, { app_id, tier }] of keys.entries()) {
      if ((tiers.get(app_id) ?? tier) !== tier) {
        const message = `${app_id} is of tier ${tiers.get(app_id)} by an earlier key; an account has one tier`;
        context.addIssue({ code: 'custom', path: [at, 'tier'], message });
      }
      tiers.set(app_id, tier);
    }
  });

/**
 * Reads `[{ "sha256": "…", "app_id": "…", "tier": "pro" }, …]`; an account may have several keys.
 * @throws ValidationError
 */
export function parseStoredKeys(json: string): StoredKey[] {
  return validate(storedKeysSchema, parseJson(json), ['keys']);
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new ValidationError([{ loc: ['keys'], msg: 'the keys are no JSON', type: 'json_invalid' }]);
  }
}

/** A new random key of 256 bits, to be given to the account, and what to keep of it. */
export function newApiKey({ app_id, tier }: Account): {
  readonly apiKey: string;
  readonly stored: StoredKey;
} {
  const apiKey = randomBytes(32).toString('base64url');
  return { apiKey, stored: { sha256: sha256(apiKey).toString('hex'), app_id, tier } };
}

/**
 * Recognises these keys. Compares hashes, each of them to the end, so that the time taken tells nothing of a key.
 * Keys of high entropy need no slow hash: there is nothing to guess.
 */
export function hashedKeys(keys: readonly StoredKey[]): Authenticate {
  const known = keys.map(({ sha256, app_id, tier }) => ({
    hash: Buffer.from(sha256, 'hex'),
    account: { app_id, tier },
  }));
  return (apiKey) => {
    const given = sha256(apiKey);
    let found: Account | undefined;
    for (const { hash, account } of known) if (timingSafeEqual(hash, given)) found = account;
    return found;
  };
}

function sha256(apiKey: string): Buffer {
  return createHash('sha256').update(apiKey).digest();
}
