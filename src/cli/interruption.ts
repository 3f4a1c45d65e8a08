/** A signal that fires when the process is asked to stop; a second request ends it at once. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** Listens for SIGINT, SIGTERM and SIGHUP until it is disposed of. */
export function interruption(): Interruption {
  const controller = new AbortController();
  const stop = () => {
    forget(); // from here on, signals do what they do by themselves
    controller.abort();
  };
  const forget = () => {
    for (const name of SIGNALS) process.off(name, stop);
  };
  for (const name of SIGNALS) process.on(name, stop);
  return { signal: controller.signal, [Symbol.dispose]: forget };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
