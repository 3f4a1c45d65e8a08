/** The longest that setInterval takes: 2^31 − 1 ms, 24.8 days. */
const LONGEST_INTERVAL_MS = 2_147_483_647;

/**
 * Awaits a promise without letting the process end meanwhile. A job that waits for its turn or runs in another
 * process keeps nothing else alive here, and Node would exit with code 13 under a program that awaits it.
 */
export async function keepingAlive<T>(awaited: Promise<T>): Promise<T> {
  const letEnd = keepAlive();
  try {
    return await awaited;
  } finally {
    letEnd();
  }
}

/** Keeps the process from ending by itself until what it returns is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, LONGEST_INTERVAL_MS);
  return () => clearInterval(timer);
}
