/** Details of a failed request. */
interface FailureDetails extends ErrorOptions {
  /** HTTP status of the server's answer, if there was one. */
  readonly status?: number;
  /** Whether the error is transient: the same request may succeed a moment later. Default false. */
  readonly isTransient?: boolean;
  /** How long the server asks clients to wait, if it does. */
  readonly pauseMs?: number | undefined;
  /** Whether there were more bytes than the caller allows. Default false. */
  readonly isTooLarge?: boolean;
}

/** A failed request. Its message is for the person who gave the URL; callers turn it into errors of their own. */
export class NetworkFailure extends Error {
  readonly status: number | undefined;
  readonly isTransient: boolean;
  readonly pauseMs: number | undefined;
  readonly isTooLarge: boolean;

  constructor(
    reason: string,
    { status, isTransient = false, pauseMs, isTooLarge = false, ...options }: FailureDetails = {},
  ) {
    super(reason, options);
    this.status = status;
    this.isTransient = isTransient;
    this.pauseMs = pauseMs;
    this.isTooLarge = isTooLarge;
  }
}

/** Transient errors of Node's sockets and its fetch, by code. */
const transient: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server broke the connection off',
  EPIPE: 'the server broke the connection off',
  UND_ERR_SOCKET: 'the server broke the connection off before the end',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the server sent fewer bytes than it announced',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the network can't be reached",
  ETIMEDOUT: 'the server did not answer',
  UND_ERR_CONNECT_TIMEOUT: 'the server did not answer',
  UND_ERR_HEADERS_TIMEOUT: 'the server did not answer',
  UND_ERR_BODY_TIMEOUT: 'the server stopped sending',
};

/** Permanent errors of Node's sockets and its fetch, by code. */
const permanent: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no host of that name is known',
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate can't be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host",
};

/**
 * Why a fetch failed: the first in the chain of causes that is a NetworkFailure or has a known code, else the
 * innermost. Messages of system calls reveal addresses of the local network, so only their codes are included.
 */
export function networkFailure(thrown: unknown): NetworkFailure {
  let reason = 'the download failed';
  for (let cause = thrown; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NetworkFailure) return cause;
    const code = 'code' in cause ? String(cause.code) : '';
    const known = transient[code] ?? permanent[code];
    if (known !== undefined) {
      return new NetworkFailure(`${known} (${code})`, { isTransient: code in transient, cause: thrown });
    }
    if ('syscall' in cause) reason = `the download failed (${code})`;
    else if (cause.message !== '') reason = cause.message;
  }
  return new NetworkFailure(reason, { cause: thrown });
}
