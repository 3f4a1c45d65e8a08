import { once } from 'node:events';
import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { clearTimeout, setTimeout } from 'node:timers';
import { getRequestListener, RequestError } from '@hono/node-server';
import { forwardedAddress } from './admission.js';
import type { Handler } from './create-handler.js';
import { TRY_AGAIN } from './refusal.js';

type ConnectionLimits = Required<Pick<ServeOptions, 'maxConnections' | 'stallTimeoutMs' | 'maxUntakenBytes'>>;

/** Answers a request; resolves when the whole answer has been written to the connection. */
type Answer = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Requests of a connection that may wait for the answer to an earlier one; one more ends the connection. */
const MAX_PIPELINED = 16;

/** Places beyond the limit, for connections that ask only whether the service runs. */
const RESERVED_PLACES = 16;
const RESERVED_PATHS = ['/health', '/ready'];

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the answer is a refusal that waits. */
  isRefused: boolean;
}

interface Connection {
  /** Whether it took a reserved place. */
  readonly isReserved: boolean;
  current: Exchange | undefined;
  readonly waiting: [incoming: IncomingMessage, response: ServerResponse][];
}

/**
 * Bounds the memory of a server's connections. Each has one request answered at a time, and the next one only when the
 * answer has been read, so there is at most one answer in memory per connection. Stalled connections are closed, and
 * idle ones if others need their place.
 */
class Connections {
  readonly #limits: ConnectionLimits;
  readonly #answer: Answer;
  /** The one that has been idle longest comes first. */
  readonly #open = new Map<Socket, Connection>();
  /** Those whose client has not read all of the last answer. */
  readonly #unread = new Set<Socket>();

  constructor(server: Server, limits: ConnectionLimits, answer: Answer) {
    this.#limits = limits;
    this.#answer = answer;
    server.on('connection', (socket) => this.#opened(socket));
    server.on('request', (incoming, response) => this.#asked(incoming, response));
    server.setTimeout(limits.stallTimeoutMs, (socket) => this.#stalled(socket));
  }

  answering(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.current?.response;
  }

  /** The answer to this request is a refusal that waits. */
  refused({ socket }: IncomingMessage): void {
    const current = this.#open.get(socket)?.current;
    if (current !== undefined) current.isRefused = true;
  }

  /** Breaks all connections, including those that Node no longer tracks. */
  endAll(): void {
    for (const socket of this.#open.keys()) this.#end(socket);
  }

  #opened(socket: Socket): void {
    const { maxConnections } = this.#limits;
    const isReserved = this.#open.size >= maxConnections && !this.#makeRoom();
    if (isReserved && this.#open.size >= maxConnections + RESERVED_PLACES) {
      refuseConnection(socket);
      return;
    }
    this.#open.set(socket, { isReserved, current: undefined, waiting: [] });
    socket.on('drain', () => this.#unread.delete(socket));
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#unread.delete(socket);
    });
  }

  /**
   * Closes a connection that waits for a refusal, otherwise an idle one, otherwise one that is slow to read its answer.
   * @returns whether there is one
   */
  #makeRoom(): boolean {
    const open = [...this.#open];
    const refused = open.find(([, { current }]) => current?.isRefused);
    const idle = () => open.find(([, { current }]) => current === undefined);
    const [socket] = refused ?? idle() ?? open.find(([{ writableLength }]) => writableLength > 0) ?? [];
    if (socket === undefined) return false;
    this.#end(socket);
    return true;
  }

  #asked(incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    const connection = this.#open.get(socket);
    if (connection === undefined) return; // it was refused or ended in the meantime
    const isFull = connection.isReserved && this.#open.size > this.#limits.maxConnections;
    if (isFull && !RESERVED_PATHS.includes(incoming.url ?? '')) {
      this.#open.delete(socket);
      refuseConnection(socket);
      return;
    }
    if (connection.current === undefined) this.#begin(socket, connection, incoming, response);
    else if (connection.waiting.length < MAX_PIPELINED) connection.waiting.push([incoming, response]);
    else this.#end(socket);
  }

  #begin(socket: Socket, connection: Connection, incoming: IncomingMessage, response: ServerResponse): void {
    connection.current = { incoming, response, isRefused: false };
    response.once('close', () => {
      connection.current = undefined;
      this.#markUsed(socket, connection);
      const next = connection.waiting.shift();
      if (next !== undefined && socket.writable) this.#begin(socket, connection, ...next);
    });
    // Failures are answered by the listener.
    void this.#answer(incoming, response).then(() => this.#limitUnread(socket));
  }

  #markUsed(socket: Socket, connection: Connection): void {
    if (!this.#open.delete(socket)) return;
    this.#open.set(socket, connection);
  }

  /** If too much is unread, drops the largest answers, except the latest. */
  #limitUnread(latest: Socket): void {
    if (latest.writableLength === 0) return;
    this.#unread.add(latest);
    let bytes = 0;
    for (const { writableLength } of this.#unread) bytes += writableLength;
    if (bytes <= this.#limits.maxUntakenBytes) return;
    const others = [...this.#unread].filter((socket) => socket !== latest);
    others.sort((a, b) => b.writableLength - a.writableLength);
    for (const socket of others) {
      // Some room, so that the next answers need not look again.
      if (bytes <= this.#limits.maxUntakenBytes / 2) return;
      bytes -= socket.writableLength;
      this.#end(socket);
    }
  }

  /** No data for a while. A request that is still being computed is waited for; one whose body stopped is not. */
  #stalled(socket: Socket): void {
    const current = this.#open.get(socket)?.current;
    if (current === undefined || socket.writableLength > 0) this.#end(socket);
    else if (!current.incoming.complete) {
      answerBrokenRequest(Object.assign(new Error(), { code: STALLED }), socket, current.response);
      socket.once('finish', () => socket.destroy());
    }
  }

  #end(socket: Socket): void {
    this.#open.delete(socket);
    socket.destroy();
  }
}

// Answers to requests that never reach the handler. They have a `detail` too.

const STALLED = 'ERR_HTTP_REQUEST_TIMEOUT';

const brokenRequests: Readonly<Record<string, readonly [status: string, msg: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers of the request are too large'],
  [STALLED]: ['408 Request Timeout', 'the request did not arrive in time'],
};

/** @param answering the answer being sent on the connection, if any: nothing may come between its pieces */
function answerBrokenRequest(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  answering: ServerResponse | undefined,
): void {
  if (code === 'ECONNRESET' || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, msg] = brokenRequests[code] ?? ['400 Bad Request', 'the request is not valid HTTP'];
  hangUp(socket, status, msg, 'bad_request');
}

function refuseConnection(socket: Duplex): void {
  const msg = `too many connections are open; ${TRY_AGAIN}`;
  hangUp(socket, '503 Service Unavailable', msg, 'overloaded', 'retry-after: 1\r\n');
  socket.once('finish', () => socket.destroy());
}

/** This is not a proxy. Node no longer tracks the connection, so it must be ended here. */
function refuseTunnel(socket: Duplex): void {
  hangUp(socket, '405 Method Not Allowed', 'no path takes CONNECT', 'method');
  socket.once('finish', () => socket.destroy());
}

/** RFC 9110, 10.1.1 */
async function refuseExpectation(_: IncomingMessage, response: ServerResponse): Promise<void> {
  const problem = {
    loc: ['header', 'expect'],
    msg: 'the only supported expectation is 100-continue',
    type: 'expectation',
  };
  const body = JSON.stringify({ detail: [problem] });
  const headers = { 'content-type': 'application/json', connection: 'close' };
  response.writeHead(417, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** The answer to a request without a valid URL, and to an internal error before the handler. */
function answerUnreadable(isInvalid: boolean): Response {
  const problem = isInvalid
    ? {
        loc: ['header', 'host'],
        msg: 'give exactly one host header that makes a valid URL with the path',
        type: 'bad_request',
      }
    : { loc: [], msg: 'the request could not be answered', type: 'server_error' };
  return Response.json({ detail: [problem] }, { status: isInvalid ? 400 : 500 });
}

function hangUp(socket: Duplex, status: string, msg: string, type: string, headers = ''): void {
  const body = JSON.stringify({ detail: [{ loc: [], msg, type }] });
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.on('error', () => undefined); // the client has gone
  socket.end(`HTTP/1.1 ${status}\r\n${headers}${head}\r\n\r\n${body}`);
}

/** Options of {@link serve}. */
export interface ServeOptions {
  /** The address to listen on. Default 127.0.0.1: reachable only from this machine. */
  readonly host?: string;
  /** The port to listen on; 0 for any free port. Default 8080. */
  readonly port?: number;
  /**
   * Whether to read the client address from x-forwarded-for. Use it only behind a proxy that sets this header, since
   * clients can forge it. Default false.
   */
  readonly trustProxy?: boolean;
  /**
   * Milliseconds that `close` waits for open requests before it closes their connections and aborts their signals.
   * Default 5,000.
   */
  readonly drainTimeoutMs?: number;
  /**
   * Maximum number of open connections. A further connection replaces one that waits for a refusal, the one that has
   * been idle longest, or one that is slow to read its answer. If there is no such connection, it gets a 503, except for
   * /health and /ready. Default 1,000.
   */
  readonly maxConnections?: number;
  /**
   * Milliseconds after which an idle connection is closed: one that sends neither a request nor more of a body, and
   * reads nothing of an answer. Default 20,000.
   */
  readonly stallTimeoutMs?: number;
  /**
   * Maximum total size of unread answers, in bytes. Beyond that, the connections with the largest unread answers are
   * closed. Default 64 MiB.
   */
  readonly maxUntakenBytes?: number;
}

/** A server that listens. */
export interface RunningServer {
  /** The URL that it listens on, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Accepts no more connections and waits for open requests, except event streams. Idempotent. */
  close(): Promise<void>;
}

/** For the headers of a request, from its first byte. */
const HEAD_TIMEOUT_MS = 15_000;
/** How long an idle connection is kept for another request. */
const KEEP_ALIVE_MS = 5000;
/** New connections that may wait for Node, where the system allows so many. Another client's system tries again after a second. */
const BACKLOG = 4096;
/** How often Node looks for late headers and bodies. */
const LATE_CHECK_MS = 5000;

/**
 * Serves a handler with the HTTP server of Node.js. Rejects if it can't listen, for example because the port is in use.
 */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = 8080, drainTimeoutMs = 5000 } = options;
  const limits = {
    maxConnections: options.maxConnections ?? 1000,
    stallTimeoutMs: options.stallTimeoutMs ?? 20_000,
    maxUntakenBytes: options.maxUntakenBytes ?? 64 * 2 ** 20,
  };
  const server = createServer({
    keepAliveTimeout: Math.min(KEEP_ALIVE_MS, limits.stallTimeoutMs),
    headersTimeout: HEAD_TIMEOUT_MS,
    connectionsCheckingInterval: LATE_CHECK_MS,
    requireHostHeader: false, // its refusal has no body; ours has one
  });
  const connections: Connections = new Connections(
    server,
    limits,
    listener(handler, options, (incoming) => connections.refused(incoming)),
  );
  server.on('clientError', (error, socket) => {
    answerBrokenRequest(error, socket, socket instanceof Socket ? connections.answering(socket) : undefined);
  });
  server.on('checkExpectation', refuseExpectation);
  server.on('connect', (_, socket) => refuseTunnel(socket));
  server.listen({ port, host, backlog: BACKLOG });
  await once(server, 'listening');
  let closing: Promise<void> | undefined;
  const eventStreams = new Set<ServerResponse>();
  server.on('request', ({ headers }, response) => {
    if (headers.accept === 'text/event-stream') eventStreams.add(response);
    response.once('close', () => {
      eventStreams.delete(response);
      // An idle connection would be kept open for the next request.
      if (closing) server.closeIdleConnections();
    });
  });
  return {
    url: urlOf(server, host),
    close() {
      closing ??= drain(server, connections, drainTimeoutMs);
      for (const stream of eventStreams) stream.destroy(); // they would not end
      return closing;
    },
  };
}

function listener(
  handler: Handler,
  { trustProxy = false }: ServeOptions,
  refused: (incoming: IncomingMessage) => void,
): Answer {
  return getRequestListener(
    (request, { incoming }) => {
      if ('headersDistinct' in incoming && (incoming.headersDistinct.host?.length ?? 0) > 1)
        return answerUnreadable(true);
      const forwarded = trustProxy ? forwardedAddress(request.headers.get('x-forwarded-for')) : undefined;
      return handler(request, {
        remoteAddress: forwarded ?? incoming.socket.remoteAddress,
        onRefused: () => void (incoming instanceof IncomingMessage && refused(incoming)),
      });
    },
    { errorHandler: (thrown) => answerUnreadable(thrown instanceof RequestError) },
  );
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function drain(server: Server, connections: Connections, timeoutMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const timer = setTimeout(() => {
    connections.endAll();
    server.closeAllConnections();
  }, timeoutMs);
  await closed;
  clearTimeout(timer);
}
