import type { Authenticate } from './api-keys.js';
import type { OperatorServices } from './operator-services.js';

/** Who may ask for what an operator does, over HTTP. Without either there are no such routes. */
export interface OperatorAccess {
  /** Whose a key of an operator is. A key of an account is none, nor the other way round. Default: there is no operator. */
  readonly authenticateOperator?: Authenticate;
  /** What `accountServices` has. */
  readonly operator?: OperatorServices;
}
