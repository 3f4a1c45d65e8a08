import { PrivateServer, serverBinaries } from '../../test/postgres/private-server.js';

/**
 * The database at a URL, or one of a server that is started here and removed on close.
 * @param settings of the configuration of that server
 */
export async function aDatabase(url: string | undefined, settings: Record<string, string | number> = {}) {
  if (url !== undefined) return { connectionString: url, close: async () => undefined };
  if (serverBinaries === undefined) throw new Error('PostgreSQL is not installed; name a --database');
  const server = new PrivateServer(serverBinaries, 60_000, settings);
  await server.create();
  return { connectionString: server.connectionString, close: () => server.remove() };
}

export interface BenchDatabase {
  readonly connectionString: string;
  readonly schema: string;
}
