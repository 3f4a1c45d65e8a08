/** What waits for a signal. */
interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly tellAll: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back when a signal fires; not where it has fired already. However many wait for one signal, as the texts of a
 * stream do, it has a single listener: Node takes more than ten for a leak, and warns.
 * @returns what forgets the callback.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = waitingFor.get(signal) ?? listening(signal);
  // Of its own, so that a function that is given twice is forgotten once at a time.
  const told = () => callback();
  waiting.callbacks.add(told);
  return () => {
    const { callbacks, tellAll } = waiting;
    if (!callbacks.delete(told) || callbacks.size > 0) return;
    signal.removeEventListener('abort', tellAll);
    if (waitingFor.get(signal) === waiting) waitingFor.delete(signal);
  };
}

function listening(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const tellAll = () => {
    for (const callback of callbacks) callback();
  };
  const waiting = { callbacks, tellAll };
  waitingFor.set(signal, waiting);
  signal.addEventListener('abort', tellAll, { once: true });
  return waiting;
}
