import { type DocumentedLimits, failuresOf } from '../../src/http/create-handler.js';
import { documentedRoutes } from '../../src/http/routes.js';
import { errorSchema } from '../../src/http/schemas.js';

/** Throws where an answer is none of those that the OpenAPI document gives the operation. */
export function requireDocumented(
  method: string,
  path: string,
  status: number,
  body: unknown,
  limits: DocumentedLimits,
): void {
  const [pathname = ''] = path.split('?');
  const operation = documentedRoutes().find((each) => each.method === method && patternOf(each.path).test(pathname));
  if (status !== 200) errorSchema.parse(body);
  else operation?.output?.parse(body);
  if (operation === undefined || status === 200) return;
  const documented: readonly number[] = [...failuresOf(operation, limits).keys()];
  if (documented.includes(status)) return;
  throw new Error(`${method} ${operation.path} is not documented to answer ${status}`);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/, '[^/]+')}$`);
}
