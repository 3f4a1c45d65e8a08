import { operations } from '../../src/http/create-handler.js';
import { openApiDocument } from '../../src/http/open-api.js';
import { errorSchema } from '../../src/http/schemas.js';

const { paths } = openApiDocument(operations);

/** Throws where an answer is none of those that the OpenAPI document gives the operation. */
export function requireDocumented(method: string, path: string, status: number, body: unknown): void {
  const [pathname = ''] = path.split('?');
  const operation = operations.find((each) => each.method === method && patternOf(each.path).test(pathname));
  if (status !== 200) errorSchema.parse(body);
  else operation?.output.parse(body);
  if (operation === undefined) return;
  const item = paths?.[operation.path];
  const documented = { GET: item?.get, POST: item?.post, DELETE: item?.delete }[operation.method];
  if (documented?.responses?.[status] === undefined) {
    throw new Error(`${method} ${operation.path} is not documented to answer ${status}`);
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/, '[^/]+')}$`);
}
