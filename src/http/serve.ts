import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { forwardedAddress } from './admission.js';
import {
  type Answer,
  answerBrokenRequest,
  answerUnreadable,
  Connections,
  refuseExpectation,
  refuseTunnel,
} from './connections.js';
import type { Handler } from './create-handler.js';

export interface ServeOptions {
  /** Default 127.0.0.1: this machine alone. */
  readonly host?: string;
  /** 0 takes any free port. Default 8080. */
  readonly port?: number;
  /**
   * Takes the client's address from the last one in x-forwarded-for. Only behind a proxy that adds it: else clients choose
   * their address. Default false.
   */
  readonly trustProxy?: boolean;
  /**
   * How long `close` waits for requests under way, in milliseconds. Then it breaks their connections, which fires the
   * signals that they were given. Default 5 s.
   */
  readonly drainTimeoutMs?: number;
  /**
   * Most connections at a time. One more takes the place of the one that has been without a request longest, or is slow to
   * take its answer; where there is none, it gets a 503. Default 1,000.
   */
  readonly maxConnections?: number;
  /** How long a connection may send no request, or take nothing of its answer, in milliseconds. Default 20 s. */
  readonly stallTimeoutMs?: number;
  /**
   * Most bytes in all that are answered and wait to be taken; beyond them the connections with the largest answers are
   * closed. Default 64 MiB.
   */
  readonly maxUntakenBytes?: number;
}

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Takes no more connections and waits for the requests under way, event streams apart. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 8080;
const DEFAULT_DRAIN_TIMEOUT_MS = 5000;
const DEFAULT_MAX_CONNECTIONS = 1000;
const DEFAULT_STALL_TIMEOUT_MS = 20_000;
const DEFAULT_MAX_UNTAKEN_BYTES = 64 * 2 ** 20;
/** For the head of a request to arrive, from its first byte. */
const HEAD_TIMEOUT_MS = 15_000;
/** How long a connection that had its answer is kept for another request. */
const KEEP_ALIVE_MS = 5000;
/** How often Node looks for heads and bodies that are late. */
const LATE_CHECK_MS = 5000;

/** Serves a handler with Node's HTTP server. Rejects where it can't listen, such as on a port in use. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = DEFAULT_PORT, drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS } = options;
  const limits = limitsOf(options);
  const server = createServer({
    keepAliveTimeout: Math.min(KEEP_ALIVE_MS, limits.stallTimeoutMs),
    headersTimeout: HEAD_TIMEOUT_MS,
    connectionsCheckingInterval: LATE_CHECK_MS,
    requireHostHeader: false, // its refusal has no body; the listener has another
  });
  const connections = new Connections(server, limits, listener(handler, options));
  server.on('clientError', (error, socket) => {
    answerBrokenRequest(error, socket, socket instanceof Socket ? connections.answering(socket) : undefined);
  });
  server.on('checkExpectation', refuseExpectation);
  server.on('connect', (_, socket) => refuseTunnel(socket));
  server.listen(port, host);
  await once(server, 'listening');
  let closing: Promise<void> | undefined;
  const eventStreams = new Set<ServerResponse>();
  server.on('request', ({ headers }, response) => {
    if (headers.accept === 'text/event-stream') eventStreams.add(response);
    response.once('close', () => {
      eventStreams.delete(response);
      // A connection that has had its answer would be kept open for the next request.
      if (closing) server.closeIdleConnections();
    });
  });
  return {
    url: urlOf(server, host),
    close() {
      closing ??= drain(server, connections, drainTimeoutMs);
      for (const stream of eventStreams) stream.destroy(); // they have no end to wait for
      return closing;
    },
  };
}

function limitsOf({
  maxConnections = DEFAULT_MAX_CONNECTIONS,
  stallTimeoutMs = DEFAULT_STALL_TIMEOUT_MS,
  maxUntakenBytes = DEFAULT_MAX_UNTAKEN_BYTES,
}: ServeOptions) {
  return { maxConnections, stallTimeoutMs, maxUntakenBytes };
}

function listener(handler: Handler, { trustProxy = false }: ServeOptions): Answer {
  return getRequestListener(
    (request, { incoming }) => {
      const forwarded = trustProxy ? forwardedAddress(request.headers.get('x-forwarded-for')) : undefined;
      return handler(request, { remoteAddress: forwarded ?? incoming.socket.remoteAddress });
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
