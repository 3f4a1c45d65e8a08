/** What the codes of Node's sockets and of its fetch mean to whoever typed the URL. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server broke the connection off',
  EPIPE: 'the server broke the connection off',
  UND_ERR_SOCKET: 'the server broke the connection off before the end',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the server sent fewer bytes than it announced',
  ENOTFOUND: 'no host of that name is known',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the network can't be reached",
  ETIMEDOUT: 'the server did not answer',
  UND_ERR_CONNECT_TIMEOUT: 'the server did not answer',
  UND_ERR_HEADERS_TIMEOUT: 'the server did not answer',
  UND_ERR_BODY_TIMEOUT: 'the server stopped sending',
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate can't be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host",
};

/** Why a fetch failed, in words: of the chain of causes, the first with a known code, else the innermost. */
export function networkReason(thrown: unknown): string {
  let reason = 'the download failed';
  for (let cause = thrown; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    const known = reasons[code];
    if (known !== undefined) return `${known} (${code})`;
    if (cause.message !== '') reason = cause.message;
  }
  return reason;
}
