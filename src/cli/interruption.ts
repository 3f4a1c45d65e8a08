/**
 * Works with a signal that fires when the process is asked to stop, by SIGINT, SIGTERM or SIGHUP. A second request ends
 * the process at once.
 */
export async function interruptible<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const stop = () => {
    forget(); // from here on, signals do what they do by themselves
    controller.abort();
  };
  const forget = () => {
    for (const name of SIGNALS) process.off(name, stop);
  };
  for (const name of SIGNALS) process.on(name, stop);
  try {
    return await work(controller.signal);
  } finally {
    forget();
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
