import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  accountKey,
  accountOf,
  accountsWithJobs,
  idIn,
  keysOfAccount,
  recordPages,
} from '../../src/jobs/account-records.js';
import type { Storage } from '../../src/storage/index.js';
import { aMemoryStorage } from './builders.js';

/** Names that are prefixes of each other, and characters that come before and after those of an id. */
const accounts = fc.array(fc.constantFrom('a', 'a b', 'ab', 'a/b', 'ä', '%', '!', '~', 'a%2Fb', '\u{1f600}'), {
  minLength: 1,
  maxLength: 6,
});
const ids = fc.array(fc.constantFrom('0', '1', 'f', 'ff'), { minLength: 1, maxLength: 4 });
const accountsWithIds = fc.uniqueArray(
  fc.tuple(
    accounts.map((parts) => parts.join('')),
    ids,
  ),
  {
    selector: ([app_id]) => app_id,
    maxLength: 6,
  },
);

async function write(storage: Storage, collection: string, keys: Iterable<string>): Promise<void> {
  for (const key of keys) await storage.write(collection, key, key, undefined);
}

const keyOf = (app_id: string, id: string) => `${accountKey(app_id)}/${id}`;

describe('the key of a record', () => {
  it('names its account and its job', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.uuid(), (app_id, id) => {
        const key = keyOf(app_id, id);
        expect([accountOf(key), idIn(key)]).toEqual([app_id, id]);
      }),
    );
  });

  it.each(['', 'a', '/a', '%/a', '%2f/a', 'a b/a', '%E4/a'])(
    'names no account if no account has such a key: %j',
    (key) => {
      expect(accountOf(key)).toBeUndefined();
    },
  );
});

describe('the accounts with jobs', () => {
  it('are found once each, whatever their names; other keys are no accounts', async () => {
    await fc.assert(
      fc.asyncProperty(accountsWithIds, async (all) => {
        const storage = aMemoryStorage();
        await write(storage, 'jobs', ['no-account', 'a b/1']);
        for (const [app_id, ids] of all) await write(storage, 'jobs', new Set(ids.map((id) => keyOf(app_id, id))));
        const found: string[] = [];
        for await (const app_id of accountsWithJobs(storage)) found.push(app_id);
        expect(found.sort()).toEqual(all.map(([app_id]) => app_id).sort());
      }),
      { numRuns: 50 },
    );
  });
});

describe('the keys of an account', () => {
  it('are not those of accounts whose names begin with its name', async () => {
    await fc.assert(
      fc.asyncProperty(accountsWithIds, fc.boolean(), async (all, hasOwn) => {
        const storage = aMemoryStorage();
        for (const [app_id, ids] of all) {
          if (hasOwn) await write(storage, 'quota', [accountKey(app_id)]);
          await write(storage, 'quota', new Set(ids.map((id) => keyOf(app_id, id))));
        }
        for (const [app_id, ids] of all) {
          const own = hasOwn ? [accountKey(app_id)] : [];
          const expected = [...own, ...[...new Set(ids)].sort().map((id) => keyOf(app_id, id))];
          expect(await keysOfAccount(storage, 'quota', app_id)).toEqual(expected);
        }
      }),
      { numRuns: 50 },
    );
  });

  it.each([999, 1000, 1001, 2000])('are listed all: %i', async (count) => {
    const storage = aMemoryStorage();
    const keys = Array.from({ length: count }, (_, n) => keyOf('a', String(n).padStart(5, '0')));
    await write(storage, 'jobs', [...keys, 'a', 'b/1']);
    expect(await keysOfAccount(storage, 'jobs', 'a')).toEqual(['a', ...keys]);
    const found: string[] = [];
    for await (const page of recordPages(storage, 'jobs', 'a/')) {
      expect(page.length).toBeLessThanOrEqual(1000);
      found.push(...page.map(({ key }) => key));
    }
    expect(found).toEqual(keys);
  });
});
