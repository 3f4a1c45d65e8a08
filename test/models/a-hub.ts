import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { OrchardError } from '../../src/contract/errors.js';
import { type HubOptions, hubModels, type LoadOptions } from '../../src/models/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type FakeHub, fakeHub } from './fake-hub.js';

/** A Hub with one model, and hubModels over it. */

export const MODEL = 'orchard/tiny';
const config = '{ "model_type": "bert" }';
export const weights = Array.from({ length: 30_000 }, (_, index) => `weight ${index}\n`).join('');

export interface Setting {
  readonly hub: FakeHub;
  readonly cache: string;
  load(
    options?: LoadOptions & { readonly name?: string; readonly hub?: HubOptions },
  ): ReturnType<ReturnType<typeof hubModels>['load']>;
}

/** A Hub with one model, an empty cache, and little patience. */
export async function aHub(): Promise<Setting> {
  const hub = await fakeHub({ [MODEL]: { 'config.json': config, 'model.safetensors': weights } });
  const cache = temporaryDirectory();
  const patience = { stallTimeoutMs: 5000, retryPauseMs: 1, retries: 2 };
  return {
    hub,
    cache,
    load: ({ name = MODEL, hub: options, ...rest } = {}) =>
      hubModels({
        endpoint: hub.endpoint,
        cacheDirectory: cache,
        offline: false,
        ...patience,
        ...options,
      }).load(name, rest),
  };
}

export async function failureOf(call: Promise<unknown>): Promise<OrchardError> {
  return call.then(
    () => expect.fail('it loads'),
    (error) => error,
  );
}

export const loadedWeights = ({ directory }: { readonly directory: string }): string =>
  readFileSync(join(directory, 'model.safetensors'), 'utf8');

/** Requests for the bytes of the weights. */
export const fetches = ({ visits }: FakeHub) => visits.filter(({ host }) => host === 'files');
