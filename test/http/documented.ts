import { operations } from '../../src/http/create-handler.js';
import { errorSchema } from '../../src/http/schemas.js';

/** The operation that a path leads to. */
function operationAt(method: string, path: string) {
  return operations.find(
    (each) => each.method === method && new RegExp(`^${each.path.replace(/\{\w+\}/, '[^/]+')}$`).test(path),
  );
}

/** Throws where an answer is not what the OpenAPI document says of the operation. */
export function requireDocumented(method: string, path: string, status: number, body: unknown): void {
  const operation = operationAt(method, path);
  if (status === 200) operation?.output.parse(body);
  else errorSchema.parse(body);
}
