import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

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

/** Answers to what never reaches the handler; they have a `detail` all the same. */

/** By Node's codes of errors. */
const brokenRequests: Readonly<Record<string, readonly [status: string, msg: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the head of the request is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
};

/**
 * Answers what is no HTTP, and hangs up.
 * @param answering the answer under way on the connection, if there is one: nothing may come between its pieces.
 */
export function answerBrokenRequest(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  answering: ServerResponse | undefined,
): void {
  if (code === 'ECONNRESET' || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, msg] = brokenRequests[code] ?? ['400 Bad Request', 'the request is no HTTP'];
  hangUp(socket, status, msg, 'bad_request');
}

/** There is no place for another connection. */
export function refuseConnection(socket: Duplex): void {
  const msg = 'too many connections are open; try again after the seconds that retry-after tells';
  hangUp(socket, '503 Service Unavailable', msg, 'overloaded', 'retry-after: 1\r\n');
  socket.once('finish', () => socket.destroy());
}

/** This is no proxy. Node has let go of the connection by then, so nothing else would end it. */
export function refuseTunnel(socket: Duplex): void {
  hangUp(socket, '405 Method Not Allowed', 'no path takes CONNECT', 'method');
  socket.once('finish', () => socket.destroy());
}

/** RFC 9110, 10.1.1: the only expectation is 100-continue. */
export async function refuseExpectation(_: IncomingMessage, response: ServerResponse): Promise<void> {
  const problem = {
    loc: ['header', 'expect'],
    msg: 'only 100-continue can be expected',
    type: 'expectation',
  };
  const body = JSON.stringify({ detail: [problem] });
  const headers = { 'content-type': 'application/json', connection: 'close' };
  response.writeHead(417, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** The answer to a request whose URL and host make no address, and to a defect in front of the handler. */
export function answerUnreadable(isRequests: boolean): Response {
  const problem = isRequests
    ? { loc: ['header', 'host'], msg: 'the header host and the path make no URL', type: 'bad_request' }
    : { loc: [], msg: 'the request could not be answered', type: 'server_error' };
  return Response.json({ detail: [problem] }, { status: isRequests ? 400 : 500 });
}

function hangUp(socket: Duplex, status: string, msg: string, type: string, headers = ''): void {
  const body = JSON.stringify({ detail: [{ loc: [], msg, type }] });
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.on('error', () => undefined); // nobody is left to read it
  socket.end(`HTTP/1.1 ${status}\r\n${headers}${head}\r\n\r\n${body}`);
}
