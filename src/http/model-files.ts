import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { Context, Hono } from 'hono';
import { ZipFile } from 'yazl';
import type { Account } from '../contract/index.js';
import { CARD_FILE } from '../model-folder/index.js';
import type { HandlerEnvironment } from './environment.js';
import type { PageServices } from './page-services.js';
import { type AllowedMethods, type Route, routePath } from './route.js';

const route = (file: string): Route => ({
  path: `/page/models/{model_id}/${file}`,
  tag: 'page',
  places: { input: 'query', subject: ['path', 'model_id'] },
});
const reportRoute = route('report');
const cardRoute = route('card');
const zipRoute = route('zip');

export const modelFileMethods: AllowedMethods = {
  [routePath(reportRoute)]: ['GET'],
  [routePath(cardRoute)]: ['GET'],
  [routePath(zipRoute)]: ['GET'],
};

/** The files of a model that the page offers for download: its report, its card, and its folder as a zip. */
export function addModelFiles(
  app: Hono<HandlerEnvironment>,
  page: Pick<PageServices, 'report' | 'modelFolder'>,
  admitted: (context: Context<HandlerEnvironment>, route: Route) => Promise<Account>,
): void {
  const add = (at: Route, type: string, content: (account: Account, id: string) => Promise<Content>) => {
    app.get(routePath(at), async (context) => {
      const account = await admitted(context, at);
      const body = await content(account, context.req.param('model_id') ?? '');
      return context.body(body, { headers: { 'content-type': type, 'cache-control': 'no-store' } });
    });
  };
  add(reportRoute, 'text/html; charset=utf-8', (account, id) => page.report(account, id));
  add(cardRoute, 'text/markdown; charset=utf-8', async (account, id) =>
    readFile(join(await page.modelFolder(account, id), CARD_FILE), 'utf8'),
  );
  add(zipRoute, 'application/zip', async (account, id) => zipOf(await page.modelFolder(account, id)));
}

type Content = string | ReadableStream<Uint8Array>;

/** A folder with all that is below it, as a zip that is made while it is read. */
async function zipOf(folder: string): Promise<ReadableStream<Uint8Array>> {
  const zip = new ZipFile();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    zip.addFile(path, path.slice(folder.length + 1).replaceAll('\\', '/'));
  }
  const passed = new PassThrough();
  // A file that goes while it is read ends the answer, and not the process.
  zip.on('error', (thrown: Error) => passed.destroy(thrown));
  zip.outputStream.pipe(passed);
  zip.end();
  return Readable.toWeb(passed);
}
