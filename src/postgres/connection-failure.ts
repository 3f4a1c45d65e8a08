/** What went wrong with a connection, from the errors of pg and of the network. */

/**
 * SQLSTATEs with which a server ends a connection, or takes none: it stops or starts, the connection was silent for too
 * long, or there are too many. What was asked was not done.
 */
const TURNED_AWAY = ['57P01', '57P02', '57P03', '57P05', '25P03', '53300'];
/** What a broken connection is called by the network. */
const BROKEN = [
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
];
/** What pg says of one, without a code. */
const BROKEN_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|connection ended|not queryable|no answer within|connection timeout/i;

/** Thrown where the server doesn't answer in time; the connection is given up then. */
export class QueryTimeout extends Error {
  override readonly name = 'QueryTimeout';
  constructor(readonly timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`);
  }
}

/** True if the connection is of no more use: what was asked may have been done or not. */
export function isConnectionLost(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown instanceof QueryTimeout || isNotDone(thrown)) return true;
  const code = codeOf(thrown) ?? '';
  return (
    BROKEN.includes(code) || code.startsWith('08') || (code === '' && BROKEN_MESSAGE.test(thrown.message))
  );
}

/** True if what was asked has surely not been done, as the connection was or is being ended. */
export function isNotDone(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return TURNED_AWAY.includes(codeOf(thrown) ?? '') || /not queryable/.test(thrown.message);
}

/**
 * A failed attempt to connect, with a message that says where to, as a system that tries several addresses gives none.
 * @param place where to, without a password.
 */
export function connectFailure(place: string, thrown: unknown): Error {
  const errors = thrown instanceof AggregateError ? thrown.errors : [thrown];
  const reasons = errors.map((each) => (each instanceof Error ? each.message : String(each)));
  const failure = new Error(`the database ${place} can't be reached: ${[...new Set(reasons)].join('; ')}`);
  const code = errors.map(codeOf).find((each) => each !== undefined);
  return Object.assign(failure, code === undefined ? {} : { code });
}

/** The SQLSTATE or the name of a system error; undefined where there is none. */
export function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
