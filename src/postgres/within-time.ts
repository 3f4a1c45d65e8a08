import { QueryTimeout } from './connection-failure.js';

/** What the server answers. @throws QueryTimeout after so long; the connection must be given up then. */
export async function withinTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new QueryTimeout(timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
