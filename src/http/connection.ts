/** What a server knows of a request beside the request. */
export interface Connection {
  /** The IP address of the client. */
  readonly remoteAddress?: string | undefined;
}
