import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ZipFile } from 'yazl';

/** The dataset that the demo trains on. */
export interface DemoDataset {
  readonly url: string;
  close(): Promise<void>;
}

/** An archive of the user's, by its URL or path. */
export function givenDataset(asked: string): DemoDataset {
  const url = URL.canParse(asked) ? asked : pathToFileURL(resolve(asked)).href;
  return { url, close: async () => {} };
}

/** A bundled dataset's folder, zipped and served over HTTP on this machine. */
export async function serveDataset(folder: string): Promise<DemoDataset> {
  const name = basename(folder);
  const files = (await readdir(folder, { recursive: true })).filter((file) => /\.(json|tsv|txt)$/.test(file));
  const server = createServer((_, response) => {
    const zip = new ZipFile();
    for (const file of files) zip.addFile(join(folder, file), `${name}/${file.replaceAll(sep, '/')}`);
    zip.end();
    response.writeHead(200, { 'content-type': 'application/zip' });
    zip.outputStream.pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/${name}.zip`,
    async close() {
      server.close();
    },
  };
}
