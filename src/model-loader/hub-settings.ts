import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import type { Fetch } from '../network/index.js';

/** Options that are left out follow the environment variables of huggingface_hub, then its defaults. */
export interface HubOptions {
  /**
   * Where files are kept, in the layout of huggingface_hub, which can share the directory. Default:
   * HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, whichever is set
   * first. Its file system must have hard links, as all but FAT do.
   */
  readonly cacheDirectory?: string;
  /** Access token for private and gated models; sent only to the endpoint's host. Default: HF_TOKEN. */
  readonly token?: string;
  /** Whether to use only what is in the cache. Default: HF_HUB_OFFLINE. */
  readonly offline?: boolean;
  /** Default: HF_ENDPOINT, else https://huggingface.co. */
  readonly endpoint?: string;
  /** Branch, tag or commit of models whose name has no `@revision`. Default `main`. */
  readonly revision?: string;
  /** How long the server may send nothing before the request is repeated, in milliseconds. Default 30 s. */
  readonly stallTimeoutMs?: number;
  /**
   * How often a request is repeated after a transient error; the count starts anew whenever bytes arrive.
   * Default 4.
   */
  readonly retries?: number;
  /** Pause before the first repetition; doubled before each further one. Default 500 ms. */
  readonly retryPauseMs?: number;
  /**
   * Advanced: sends the requests, for instance through a proxy. It must not follow redirects. Default: Node's
   * fetch.
   */
  readonly fetch?: Fetch;
}

const DEFAULT_ENDPOINT = 'https://huggingface.co';

const settingsSchema = z.object({
  cacheDirectory: z.string().min(1),
  token: z.string().min(1).optional(),
  offline: z.boolean(),
  endpoint: z.url({ protocol: /^https?$/ }),
  revision: z.string().default('main'),
  stallTimeoutMs: z.number().positive().default(30_000),
  retries: z.int().min(0).default(4),
  retryPauseMs: z.number().min(0).default(500),
});

/** All that {@link HubOptions} and the environment decide; the endpoint has no slash at its end. */
export interface HubSettings extends Readonly<z.infer<typeof settingsSchema>> {
  readonly fetch: Fetch;
}

/** @throws ValidationError */
export function hubSettings(options: HubOptions, environment: NodeJS.ProcessEnv = process.env): HubSettings {
  const variable = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const { cacheDirectory, endpoint, ...others } = validate(settingsSchema, {
    cacheDirectory: defaultCache(variable),
    token: variable('HF_TOKEN'),
    offline: isSwitchedOn(variable('HF_HUB_OFFLINE')),
    endpoint: variable('HF_ENDPOINT') ?? DEFAULT_ENDPOINT,
    ...options,
  });
  return {
    ...others,
    cacheDirectory: resolve(cacheDirectory),
    endpoint: endpoint.replace(/\/+$/, ''),
    fetch: options.fetch ?? fetch,
  };
}

function defaultCache(variable: (name: string) => string | undefined): string {
  const cache = variable('HF_HUB_CACHE');
  if (cache !== undefined) return fromHome(cache);
  const home = variable('HF_HOME') ?? join(variable('XDG_CACHE_HOME') ?? '~/.cache', 'huggingface');
  return fromHome(join(home, 'hub'));
}

function fromHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

function isSwitchedOn(value = ''): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
