interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly callAll: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back when a signal fires, but not if it has fired already. All callbacks of a signal share one listener: Node takes
 * more than ten for a leak and warns, and the texts of a stream can be many.
 * @returns a function that removes the callback.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = waitingFor.get(signal) ?? listening(signal);
  // A function of its own, so that a callback added twice can be removed once.
  const own = () => callback();
  waiting.callbacks.add(own);
  return () => {
    const { callbacks, callAll } = waiting;
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    signal.removeEventListener('abort', callAll);
    if (waitingFor.get(signal) === waiting) waitingFor.delete(signal);
  };
}

function listening(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const callAll = () => {
    for (const callback of callbacks) callback();
  };
  const waiting = { callbacks, callAll };
  waitingFor.set(signal, waiting);
  signal.addEventListener('abort', callAll, { once: true });
  return waiting;
}
