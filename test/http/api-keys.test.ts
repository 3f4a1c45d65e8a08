import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addToKeyFile, readKeyFile } from '../../src/http/api-keys.js';
import { hashedKeys, newApiKey, parseStoredKeys } from '../../src/http/index.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const acme = { app_id: 'acme', tier: 'pro' } as const;
const shop = { app_id: 'shop', tier: 'basic' } as const;

describe('keys', () => {
  it('are new each time, of 256 bits, and kept as their SHA-256', () => {
    const { apiKey, stored } = newApiKey(acme);
    expect(Buffer.from(apiKey, 'base64url')).toHaveLength(32);
    expect(stored).toEqual({ ...acme, sha256: sha256(apiKey) });
    expect(newApiKey(acme).apiKey).not.toBe(apiKey);
  });

  it('say whose they are, and no other key does', async () => {
    const keys = [
      { sha256: sha256('one'), ...acme },
      { sha256: sha256('two'), ...shop },
      { sha256: sha256('three'), ...acme },
    ];
    const authenticate = hashedKeys(keys);
    expect(await authenticate('one')).toEqual(acme);
    expect(await authenticate('two')).toEqual(shop);
    expect(await authenticate('three')).toEqual(acme);
    for (const wrong of ['', 'on', 'One', 'one ', sha256('one')]) {
      expect(await authenticate(wrong)).toBeUndefined();
    }
  });

  it.each([
    ['no JSON', 'acme', /keys: /],
    ['no list', '{}', /keys: /],
    ['an empty list', '[]', /orchard new-key/],
    ['a key in the clear', JSON.stringify([{ key: 'secret', ...acme }]), /keys\.0/],
    ['a hash that is too short', JSON.stringify([{ sha256: 'ab', ...acme }]), /keys\.0\.sha256/],
    [
      'an account of two tiers',
      JSON.stringify([
        { sha256: sha256('a'), ...acme },
        { sha256: sha256('b'), ...acme, tier: 'basic' },
      ]),
      /keys\.1\.tier: acme has the tier pro/,
    ],
  ])('are refused as %s', async (_, json, message) => {
    expect((await failureOf('validation', () => parseStoredKeys(json))).message).toMatch(message);
  });
});

describe('a file of keys', () => {
  it('is made with its first key, takes more, and is for its owner alone', async () => {
    const path = join(temporaryDirectory(), 'keys.json');
    const [first, second] = [newApiKey(acme).stored, newApiKey(shop).stored];
    for (const key of [first, second]) await addToKeyFile(path, key);
    expect(await readKeyFile(path)).toEqual([first, second]);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o077).toBe(0);
  });

  it('is left as it was where a key does not fit', async () => {
    const path = join(temporaryDirectory(), 'keys.json');
    await addToKeyFile(path, newApiKey(acme).stored);
    const before = readFileSync(path, 'utf8');
    const { stored } = newApiKey({ ...acme, tier: 'basic' });
    await failureOf('validation', () => addToKeyFile(path, stored));
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('that is absent or spoiled is an error that names it', async () => {
    const path = join(temporaryDirectory(), 'keys.json');
    expect((await failureOf('storage', () => readKeyFile(path))).message).toContain(path);
    writeFileSync(path, '[');
    expect((await failureOf('validation', () => readKeyFile(path))).message).toContain(path);
  });
});
