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
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string;
  /** 0 takes any free port. Default 8080. */
  readonly port?: number;
  /** Take the client address from x-forwarded-for. Only behind a proxy that sets it: clients can forge it. Default false. */
  readonly trustProxy?: boolean;
  /** Time that `close` waits for open requests, before it breaks their connections and aborts their signals. Default 5 s. */
  readonly drainTimeoutMs?: number;
  /**
   * Maximum open connections. One more replaces the connection that has been idle longest, or one that is slow to read its
   * answer; if there is none, it gets a 503. Default 1,000.
   */
  readonly maxConnections?: number;
  /** Time without a request, or without reading of an answer, after which a connection is closed. Default 20 s. */
  readonly stallTimeoutMs?: number;
  /** Maximum total bytes of unread answers; beyond that, the connections with the largest are closed. Default 64 MiB. */
  readonly maxUntakenBytes?: number;
}

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Accepts no more connections and waits for open requests, except event streams. Idempotent. */
  close(): Promise<void>;
}

/** For the headers of a request, from its first byte. */
const HEAD_TIMEOUT_MS = 15_000;
/** How long an idle connection is kept for another request. */
const KEEP_ALIVE_MS = 5000;
/** How often Node looks for late headers and bodies. */
const LATE_CHECK_MS = 5000;

/** Serves a handler with Node's HTTP server. Rejects if it can't listen, such as on a port in use. */
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
