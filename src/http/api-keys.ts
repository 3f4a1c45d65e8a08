import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import {
  type Account,
  accountSchema,
  type FieldsOf,
  StorageError,
  ValidationError,
  validate,
} from '../contract/index.js';
import { replaceFile } from '../system/index.js';

/** The account of an API key; undefined if the key is unknown. */
export type Authenticate = (apiKey: string) => Account | undefined | Promise<Account | undefined>;

/** A key as it is stored, with its account. */
export interface StoredKey extends Account {
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly sha256: string;
}

const storedKeySchema = z.strictObject({
  ...accountSchema.shape,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'give the SHA-256 of the key as 64 hexadecimal digits'),
} satisfies FieldsOf<StoredKey>);

const storedKeysSchema = z
  .array(storedKeySchema)
  .min(1, 'there are no keys; create one with "orchard new-key"')
  .superRefine((keys, context) => {
    const tiers = new Map<string, string>();
    for (const [at, { app_id, tier }] of keys.entries()) {
      if ((tiers.get(app_id) ?? tier) !== tier) {
        const message = `${app_id} has the tier ${tiers.get(app_id)} in an earlier key; give all keys of an account the same tier`;
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
    const example = '[{ "sha256": "…", "app_id": "…", "tier": "pro" }]';
    const msg = `the keys are not valid JSON; give an array such as ${example}`;
    throw new ValidationError([{ loc: ['keys'], msg, type: 'json_invalid' }]);
  }
}

/** Creates a new random key of 256 bits for the account, and the record to store in place of the key. */
export function newApiKey({ app_id, tier }: Account): {
  readonly apiKey: string;
  readonly stored: StoredKey;
} {
  const apiKey = randomBytes(32).toString('base64url');
  return { apiKey, stored: { sha256: sha256(apiKey).toString('hex'), app_id, tier } };
}

/**
 * Returns a function that recognizes these keys. It compares all hashes in constant time, so that timing reveals
 * nothing about a key. A slow hash is not needed, because random keys can't be guessed.
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

/** @throws StorageError, ValidationError; both name the file */
export async function readKeyFile(path: string): Promise<StoredKey[]> {
  const json = await named(path, readFile(path, 'utf8'));
  try {
    return parseStoredKeys(json);
  } catch (thrown) {
    if (!(thrown instanceof ValidationError)) throw thrown;
    throw new ValidationError(thrown.problems.map((problem) => ({ ...problem, msg: `${path}: ${problem.msg}` })));
  }
}

/**
 * Adds a key to a file, which is created if it is missing; only its owner can read the file.
 * @throws StorageError, ValidationError; the file is then unchanged
 */
export async function addToKeyFile(path: string, key: StoredKey): Promise<void> {
  const known = existsSync(path) ? await readKeyFile(path) : [];
  const keys = parseStoredKeys(JSON.stringify([...known, key]));
  const json = `${JSON.stringify(keys, null, 2)}\n`;
  await named(path, replaceFile(path, json, { mode: 0o600 }));
}

/** Names the file in failures. @throws StorageError */
async function named<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw new StorageError(`the key file ${path}: ${thrown}`, { cause: thrown });
  }
}
