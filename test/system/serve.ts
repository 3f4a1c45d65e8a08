import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';

/** Servers on this machine. */

/** Serves on a free port until the test ends; gives the base URL. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** Answers the first request by the first listener and so on, further ones by the last. */
export async function serveInTurn(...listeners: readonly RequestListener[]) {
  /** Headers of the requests so far. */
  const asked: IncomingHttpHeaders[] = [];
  const base = await serve((request, response) => {
    const listener = listeners[Math.min(asked.length, listeners.length - 1)];
    asked.push(request.headers);
    listener?.(request, response);
  });
  return { url: new URL('/file', base), asked };
}
