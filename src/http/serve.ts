import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { forwardedAddress } from './client-network.js';
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
  /** How long `close` waits for requests under way before it breaks their connections. Default 10 s. */
  readonly drainTimeoutMs?: number;
}

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Takes no more connections and waits for the requests under way, event streams apart. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 8080;
const DEFAULT_DRAIN_TIMEOUT_MS = 10_000;

/** Serves a handler with Node's HTTP server. Rejects where it can't listen, such as on a port in use. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = DEFAULT_PORT, drainTimeoutMs = DEFAULT_DRAIN_TIMEOUT_MS } = options;
  const { trustProxy = false } = options;
  const listener = getRequestListener((request, { incoming }) => {
    const forwarded = trustProxy ? forwardedAddress(request.headers.get('x-forwarded-for')) : undefined;
    return handler(request, { remoteAddress: forwarded ?? incoming.socket.remoteAddress });
  });
  const server = createServer(listener);
  server.on('clientError', answerBrokenRequest);
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
      closing ??= drain(server, drainTimeoutMs);
      for (const stream of eventStreams) stream.destroy(); // they have no end to wait for
      return closing;
    },
  };
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function drain(server: Server, timeoutMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await closed;
  clearTimeout(timer);
}

/** What is no HTTP never reaches the handler; its answer has a `detail` all the same. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, msg] = brokenRequests[error.code ?? ''] ?? ['400 Bad Request', 'the request is no HTTP'];
  const body = JSON.stringify({ detail: [{ loc: [], msg, type: 'bad_request' }] });
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`);
}

/** By Node's codes of errors. */
const brokenRequests: Readonly<Record<string, readonly [status: string, msg: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the head of the request is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
};
