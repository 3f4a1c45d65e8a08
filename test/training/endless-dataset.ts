import { once } from 'node:events';
import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';

/** The URL of a dataset that never comes, and when it has been asked for. */
export async function anEndlessDataset(): Promise<{ readonly url: string; readonly asked: Promise<unknown> }> {
  const server = createServer(() => undefined);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : '';
  return { url: `http://127.0.0.1:${port}/dataset.zip`, asked: once(server, 'request') };
}
