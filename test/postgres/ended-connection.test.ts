import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/postgres/index.js';

/** A message of PostgreSQL's protocol (version 3): its type, its length with these four bytes, its body. */
function message(type: string, ...body: Buffer[]): Buffer {
  const bytes = Buffer.concat(body);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length + 4);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}

const authenticated = message('R', Buffer.alloc(4));
const readyForQuery = message('Z', Buffer.from('I'));
const stopping = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'));

/** A server that accepts a connection and ends it in one breath, as one does that is stopped at this moment. */
async function aStoppingServer() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([authenticated, readyForQuery, stopping])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { connectionString: `postgres://orchard@127.0.0.1:${port}/postgres`, sockets };
}

it('reports a connection that the server ends while it is handed out, and goes on', async () => {
  const { connectionString, sockets } = await aStoppingServer();
  const database = new Database(connectionString);
  onTestFinished(() => database.close());
  await expect(database.query('SELECT 1')).rejects.toThrow(/terminating connection|not queryable|terminated/);
  expect(sockets.length).toBeGreaterThan(0);
});
