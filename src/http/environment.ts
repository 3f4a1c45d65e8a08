import type { RequestIdVariables } from 'hono/request-id';
import type { Account } from '../contract/index.js';
import type { Connection } from './connection.js';
import type { Route } from './route.js';

/** What the parts of the handler tell each other about a request. */
export interface HandlerEnvironment {
  readonly Bindings: Connection;
  readonly Variables: RequestIdVariables & {
    /** Absent where no key is needed. */
    route?: Route;
    account?: Account;
    /** Those that were answered; absent where no model is asked. */
    inferenceCalls?: number;
    /** What lies beneath an answer of 500 and more. */
    failure?: unknown;
  };
}
