import { Socket } from 'node:net';
import type { PoolClient } from 'pg';
import { withinTime } from './within-time.js';

/** How often the connection is asked whether it is still there, and how long it has to answer. */
const HEARTBEAT_MS = 5_000;
/** Between two attempts to connect. */
const RECONNECT_MS = 500;

/** Who listens on a channel. */
export interface ChannelListener {
  /** A notification has come. @param payload what was sent along. */
  heard(payload: string): void;
  /**
   * The connection is there, for the first time or again. What was sent before is lost: look it up instead.
   */
  connected(): void;
}

/**
 * One connection that listens on all channels that anybody asked for. It is made with the first of them, and made
 * again by itself for as long as somebody listens.
 */
export class Listener {
  readonly #connect: () => Promise<PoolClient>;
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  #client: PoolClient | undefined;
  #isConnecting = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connect: () => Promise<PoolClient>) {
    this.#connect = connect;
  }

  /** @returns what ends it. */
  listen(channel: string, listener: ChannelListener): () => void {
    const there = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, there.add(listener));
    if (this.#client === undefined) void this.#open();
    else this.#join(this.#client, channel, [listener]);
    return () => {
      there.delete(listener);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#drop(this.#client);
  }

  async #open(): Promise<void> {
    if (this.#isConnecting || this.#isClosed) return;
    this.#isConnecting = true;
    const client = await this.#connect().catch(() => undefined);
    this.#isConnecting = false;
    if (client === undefined || this.#isClosed) {
      client?.release();
      this.#later(RECONNECT_MS, () => this.#open());
      return;
    }
    this.#client = client;
    const lost = () => this.#lose(client);
    client.on('error', lost).on('end', lost);
    client.on('notification', ({ channel, payload = '' }) => {
      for (const { heard } of [...(this.#listeners.get(channel) ?? [])]) heard(payload);
    });
    const { stream } = client.connection;
    if (stream instanceof Socket) stream.unref(); // who only listens needn't keep the process
    for (const [channel, listeners] of this.#listeners) this.#join(client, channel, [...listeners]);
    this.#later(HEARTBEAT_MS, () => this.#beat(client));
  }

  #join(client: PoolClient, channel: string, listeners: readonly ChannelListener[]): void {
    client.query(`LISTEN ${client.escapeIdentifier(channel)}`).then(
      () => {
        for (const { connected } of listeners) connected();
      },
      () => this.#lose(client),
    );
  }

  /** A connection that was cut says nothing by itself for many minutes. */
  async #beat(client: PoolClient): Promise<void> {
    try {
      await withinTime(client.query('SELECT 1'), HEARTBEAT_MS);
      if (this.#client === client) this.#later(HEARTBEAT_MS, () => this.#beat(client));
    } catch {
      this.#lose(client);
    }
  }

  #lose(client: PoolClient): void {
    if (this.#client !== client) return;
    this.#drop(client);
    this.#later(RECONNECT_MS, () => this.#open());
  }

  #drop(client: PoolClient | undefined): void {
    clearTimeout(this.#timer);
    this.#client = undefined;
    client?.removeAllListeners('notification');
    client?.release(true);
  }

  #later(ms: number, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void work(), ms).unref();
  }
}
