import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ZipFile } from 'yazl';

/** The dataset that the demo trains on. */
export interface DemoDataset {
  readonly url: string;
  /** Held-out rows to check the model with, where the demo knows them. */
  readonly dev: readonly { readonly text: string; readonly label: string }[] | undefined;
  close(): Promise<void>;
}

/** The archive that was asked for, or the bundled reviews, zipped and served over HTTP on this machine. */
export async function openDataset(asked: string | undefined): Promise<DemoDataset> {
  if (asked === undefined)
    return serveReviews(fileURLToPath(new URL('../customer-reviews', import.meta.url)));
  const url = URL.canParse(asked) ? asked : pathToFileURL(resolve(asked)).href;
  return { url, dev: undefined, close: async () => {} };
}

async function serveReviews(folder: string): Promise<DemoDataset> {
  const files = ['config.json', 'label_id.json', 'train.tsv', 'dev.tsv'];
  const server = createServer((_, response) => {
    const zip = new ZipFile();
    for (const file of files) zip.addFile(join(folder, file), `customer-reviews/${file}`);
    zip.end();
    response.writeHead(200, { 'content-type': 'application/zip' });
    zip.outputStream.pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/customer-reviews.zip`,
    dev: await readRows(folder),
    async close() {
      server.close();
    },
  };
}

async function readRows(folder: string) {
  const labels: Record<string, string> = JSON.parse(await readFile(join(folder, 'label_id.json'), 'utf8'));
  const [, ...lines] = (await readFile(join(folder, 'dev.tsv'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const [text = '', id = ''] = line.split('\t');
    return { text, label: labels[id] ?? id };
  });
}
