import { describeBytes } from '../datasets/index.js';
import { Refusal } from './refusal.js';

/** How much disk uploads may take, those under way included. */
export interface UploadLimits {
  /** Of one account, in bytes. Default 1 GiB. */
  readonly maxAccountBytes?: number;
  /** Of all accounts, in bytes. Default 8 GiB. */
  readonly maxBytes?: number;
}

const DEFAULT_MAX_ACCOUNT_BYTES = 2 ** 30;
const DEFAULT_MAX_BYTES = 8 * 2 ** 30;

/** Why uploads may not take so many bytes, of an account and of all; undefined where they may. */
export function uploadRefusal(
  bytes: { readonly account: number; readonly all: number },
  { maxAccountBytes = DEFAULT_MAX_ACCOUNT_BYTES, maxBytes = DEFAULT_MAX_BYTES }: UploadLimits,
): Refusal | undefined {
  if (bytes.account > maxAccountBytes) {
    const most = describeBytes(maxAccountBytes);
    const msg = `the uploads of this account would take more than ${most}; wait until a job with one has ended`;
    return new Refusal(429, [{ loc: ['body'], msg, type: 'uploads' }]);
  }
  if (bytes.all <= maxBytes) return undefined;
  const msg = 'the service has no place for another upload; try again later, or give a dataset_url';
  return new Refusal(503, [{ loc: ['body'], msg, type: 'uploads' }], { headers: { 'retry-after': '60' } });
}

/** Counts the bytes that uploads take or may yet take. */
export class UploadBudget {
  readonly #limits: UploadLimits;
  readonly #byAccount = new Map<string, number>();
  #bytes = 0;

  constructor(limits: UploadLimits) {
    this.#limits = limits;
  }

  /** Why there is no place for so many bytes more of an account; undefined where there is. */
  refusal(app_id: string, bytes: number): Refusal | undefined {
    return uploadRefusal({ account: this.#of(app_id) + bytes, all: this.#bytes + bytes }, this.#limits);
  }

  /** @param bytes below 0 where they have become free. */
  add(app_id: string, bytes: number): void {
    this.#bytes += bytes;
    const left = this.#of(app_id) + bytes;
    if (left === 0) this.#byAccount.delete(app_id);
    else this.#byAccount.set(app_id, left);
  }

  #of(app_id: string): number {
    return this.#byAccount.get(app_id) ?? 0;
  }
}
