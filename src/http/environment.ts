import type { RequestIdVariables } from 'hono/request-id';
import type { Account } from '../contract/index.js';

/** What the parts of the handler tell each other about a request. */
export interface HandlerEnvironment {
  readonly Variables: RequestIdVariables & {
    /** The path of the route, with the names of its parameters. */
    route?: string;
    account?: Account;
    /** What lies beneath an answer of 500 and more. */
    failure?: unknown;
  };
}
