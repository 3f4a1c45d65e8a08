import { Socket } from 'node:net';
import type { PoolClient } from 'pg';
import { withinTime } from './connection-errors.js';

/** How often the connection is checked, and how long it has to answer. */
const HEARTBEAT_MS = 5_000;
const RECONNECT_MS = 500;

export interface ChannelListener {
  /** A notification has arrived. */
  heard(payload: string): void;
  /** The connection is open, for the first time or again. Earlier notifications are lost: look up what they would say. */
  connected(): void;
}

/** One connection that listens on all channels. It opens with the first listener, and reconnects until it is closed. */
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

  /** @returns a function that stops it. */
  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    if (this.#client === undefined) void this.#open();
    else this.#subscribe(this.#client, channel, [listener]);
    return () => {
      listeners.delete(listener);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#drop();
  }

  async #open(): Promise<void> {
    if (this.#isConnecting || this.#isClosed) return;
    this.#isConnecting = true;
    const client = await this.#connect().catch(() => undefined);
    this.#isConnecting = false;
    if (client === undefined || this.#isClosed) {
      client?.release();
      this.#schedule(RECONNECT_MS, () => this.#open());
      return;
    }
    this.#client = client;
    const lose = () => this.#lose(client);
    client.on('error', lose).on('end', lose);
    client.on('notification', ({ channel, payload = '' }) => {
      for (const { heard } of [...(this.#listeners.get(channel) ?? [])]) heard(payload);
    });
    const { stream } = client.connection;
    if (stream instanceof Socket) stream.unref(); // listening alone doesn't keep the process alive
    for (const [channel, listeners] of this.#listeners) this.#subscribe(client, channel, [...listeners]);
    this.#schedule(HEARTBEAT_MS, () => this.#beat(client));
  }

  #subscribe(client: PoolClient, channel: string, listeners: readonly ChannelListener[]): void {
    client.query(`LISTEN ${client.escapeIdentifier(channel)}`).then(
      () => {
        for (const { connected } of listeners) connected();
      },
      () => this.#lose(client),
    );
  }

  /** Without it, a connection that was cut would go unnoticed for many minutes. */
  async #beat(client: PoolClient): Promise<void> {
    try {
      await withinTime(client.query('SELECT 1'), HEARTBEAT_MS);
      if (this.#client === client) this.#schedule(HEARTBEAT_MS, () => this.#beat(client));
    } catch {
      this.#lose(client);
    }
  }

  #lose(client: PoolClient): void {
    if (this.#client !== client) return;
    this.#drop();
    this.#schedule(RECONNECT_MS, () => this.#open());
  }

  #drop(): void {
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    client?.removeAllListeners('notification');
    client?.release(true);
  }

  #schedule(ms: number, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void work(), ms).unref();
  }
}
