/** One request, as the access log tells it. Never a query text, a key or the query string. */
export interface AccessLogEntry {
  /** ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  /** Absent where the key is nobody's, and where none is needed. */
  readonly app_id?: string;
  /** Of a status of 500 and more: what happened. */
  readonly error?: string;
}
