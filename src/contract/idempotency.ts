/** UTF-16 code units of the key that makes a request to create a job repeatable. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;
