import { Refusal } from './refusal.js';

/** What one account may have open at a time in a process. A request that exceeds a limit gets a 429 that names it. */
export interface AccountLimits {
  /** Requests that are arriving or being answered, except for streams, uploads and downloads. Default 250. */
  readonly requests?: number;
  /** Event streams of jobs. Default 50. */
  readonly streams?: number;
  /** Uploads that are arriving or being read: datasets, and files of texts to label. Default 5. */
  readonly uploads?: number;
  /** Model folders and labelled rows that are being downloaded. Default 10. */
  readonly downloads?: number;
  /**
   * Total size of the bodies of its requests, without uploads, in bytes. A single body may exceed it. Default 64 MiB.
   */
  readonly bodyBytes?: number;
}

/** What a request holds until it has been answered. */
export type Held = Exclude<keyof AccountLimits, 'bodyBytes'>;

interface Limit {
  readonly most: number;
  /** In messages. */
  readonly what: string;
  readonly type: `open_${string}`;
}

const limits: Readonly<Record<keyof AccountLimits, Limit>> = {
  requests: { most: 250, what: 'requests open at a time', type: 'open_requests' },
  streams: { most: 50, what: 'event streams open at a time', type: 'open_streams' },
  uploads: { most: 5, what: 'uploads open at a time', type: 'open_uploads' },
  downloads: { most: 10, what: 'downloads open at a time', type: 'open_downloads' },
  bodyBytes: { most: 64 * 2 ** 20, what: 'bytes in the bodies of open requests', type: 'open_body_bytes' },
};

/** The default limits of a server with this number of connections: with 8 or more, less than two thirds of them in total. */
export function limitsAmong(connections: number): AccountLimits {
  const share = (what: Held, part: number) => Math.min(limits[what].most, Math.max(1, Math.floor(connections * part)));
  return {
    requests: share('requests', 1 / 4),
    streams: share('streams', 1 / 8),
    uploads: share('uploads', 1 / 8),
    downloads: share('downloads', 1 / 8),
  };
}

/** Refusals of one account, or network, that go out in a second while it doesn't stop asking. */
const REFUSALS_PER_SECOND = 50;
const LONGEST_PAUSE_MS = 5000;

/** Counts what accounts hold, so that none takes all connections, files or memory of the service. */
export class AccountHolds {
  readonly #limits: AccountLimits;
  readonly #held = new Map<string, number>();
  /** When the next refusal of an account, or network, may go out. */
  readonly #nextRefusals = new Map<string, number>();

  constructor(limits: AccountLimits = {}) {
    this.#limits = limits;
  }

  /** @returns a function that gives it back, once. @throws Refusal 429 beyond the limit */
  take(app_id: string, what: keyof AccountLimits, amount = 1): () => void {
    const key = `${what} ${app_id}`;
    const held = this.#held.get(key) ?? 0;
    const most = this.#limits[what] ?? limits[what].most;
    if (held > 0 && held + amount > most) throw tooManyHeld(what, most);
    this.#held.set(key, held + amount);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#held.get(key) ?? 0) - amount;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    };
  }

  /**
   * How long a refusal of this account, or network, waits before it goes out. A client that asks again at once would otherwise keep the
   * service's thread busy with refusals. An account that waits for as long as `retry-after` says has no pause.
   * @param now milliseconds of a clock that doesn't go back
   */
  refusalPauseMs(asker: string, now: number): number {
    const due = Math.max(now, this.#nextRefusals.get(asker) ?? 0);
    const pause = Math.min(LONGEST_PAUSE_MS, due - now);
    for (const [each, next] of this.#nextRefusals) {
      if (next > now) break;
      this.#nextRefusals.delete(each);
    }
    this.#nextRefusals.delete(asker);
    this.#nextRefusals.set(asker, now + pause + 1000 / REFUSALS_PER_SECOND);
    return pause;
  }
}

function tooManyHeld(what: keyof AccountLimits, most: number): Refusal {
  const limit = limits[what];
  const figure = most.toLocaleString('en-US');
  const msg = `${limit.what} are limited to ${figure} per account; wait until others have ended`;
  const detail = [{ loc: ['header', 'x-api-key'], msg, type: limit.type }];
  return new Refusal(429, detail, { headers: { 'retry-after': '1' } });
}

/** The same stream; `ended` is called when it was read to its end, failed or was given up. */
export function endingWith(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const giveUp = (reason: unknown) => {
    ended();
    return reader.cancel(reason).catch(() => undefined);
  };
  signal.addEventListener('abort', () => void giveUp(signal.reason), { once: true });
  if (signal.aborted) void giveUp(signal.reason);
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        controller.close();
      } catch (thrown) {
        ended();
        controller.error(thrown);
      }
    },
    cancel: giveUp,
  });
}
