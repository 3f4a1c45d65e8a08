import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { refuseConnection } from './broken-requests.js';

export interface ConnectionLimits {
  /** Most connections at a time. */
  readonly maxConnections: number;
  /** How long a connection may bring no request, or take nothing of an answer, in milliseconds. */
  readonly stallTimeoutMs: number;
  /** Most bytes in all that are answered and not yet taken. */
  readonly maxUntakenBytes: number;
}

/** Answers a request; resolves when everything of the answer has been given to the connection. */
export type Answer = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Requests of a connection that may wait for the answer to an earlier one; with one more the connection ends. */
export const MAX_PIPELINED = 16;

interface Connection {
  /** What is being answered. */
  current: ServerResponse | undefined;
  readonly waiting: [incoming: IncomingMessage, response: ServerResponse][];
}

/**
 * What the connections of a server may cost. Each has one request answered at a time, and the next only when the answer
 * has been taken: so there is never more than one answer in memory for each. Those that take nothing, or are silent
 * where others want their place, are closed.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #answer: Answer;
  /** The one that has been silent longest first. */
  readonly #open = new Map<Socket, Connection>();

  constructor(server: Server, limits: ConnectionLimits, answer: Answer) {
    this.#limits = limits;
    this.#answer = answer;
    server.on('connection', (socket) => this.#opened(socket));
    server.on('request', (incoming, response) => this.#asked(incoming, response));
    server.setTimeout(limits.stallTimeoutMs, (socket) => this.#stalled(socket));
  }

  /** What the connection is being answered; undefined where it isn't. */
  answering(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.current;
  }

  /** Breaks them all, also those that Node has let go of. */
  endAll(): void {
    for (const socket of this.#open.keys()) this.#end(socket);
  }

  #opened(socket: Socket): void {
    if (this.#open.size >= this.#limits.maxConnections && !this.#makePlace()) {
      refuseConnection(socket);
      return;
    }
    this.#open.set(socket, { current: undefined, waiting: [] });
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Closes a connection without a request, else one that is slow to take its answer. @returns whether there is one. */
  #makePlace(): boolean {
    const open = [...this.#open];
    const idle = open.find(([, { current }]) => current === undefined);
    const [socket] = idle ?? open.find(([{ writableLength }]) => writableLength > 0) ?? [];
    if (socket === undefined) return false;
    this.#end(socket);
    return true;
  }

  #asked(incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    const connection = this.#open.get(socket);
    if (connection === undefined) return; // it has been refused, or ended within this piece of its requests
    if (connection.current === undefined) this.#begin(socket, connection, incoming, response);
    else if (connection.waiting.length < MAX_PIPELINED) connection.waiting.push([incoming, response]);
    else this.#end(socket);
  }

  #begin(socket: Socket, connection: Connection, incoming: IncomingMessage, response: ServerResponse): void {
    connection.current = response;
    response.once('close', () => {
      connection.current = undefined;
      this.#touched(socket, connection);
      const next = connection.waiting.shift();
      if (next !== undefined && socket.writable) this.#begin(socket, connection, ...next);
    });
    // The listener of a web handler answers what goes wrong in it.
    void this.#answer(incoming, response).then(() => this.#boundUntaken(socket));
  }

  #touched(socket: Socket, connection: Connection): void {
    if (!this.#open.delete(socket)) return;
    this.#open.set(socket, connection);
  }

  /** Where too much is waiting to be taken, the largest answers are given up; the latest one has its chance. */
  #boundUntaken(latest: Socket): void {
    if (latest.writableLength === 0) return;
    const others = [...this.#open.keys()]
      .filter((socket) => socket !== latest)
      .sort((a, b) => b.writableLength - a.writableLength);
    let bytes = others.reduce((sum, { writableLength }) => sum + writableLength, latest.writableLength);
    for (const socket of others) {
      if (bytes <= this.#limits.maxUntakenBytes) return;
      bytes -= socket.writableLength;
      this.#end(socket);
    }
  }

  /** Nothing went to or fro for a while. An answer that is still being worked out is waited for. */
  #stalled(socket: Socket): void {
    if (this.answering(socket) === undefined || socket.writableLength > 0) this.#end(socket);
  }

  #end(socket: Socket): void {
    this.#open.delete(socket);
    socket.destroy();
  }
}
