import type { Lane } from './lane.js';

/** A lane whose code is loaded with its first work. */
export function lazyLane(load: () => Promise<Lane>): Lane {
  let loading: Promise<Lane> | undefined;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    run: async (batch) => (await loaded()).run(batch),
    resume: async (id, alone) => (await loaded()).resume(id, alone),
    cancel: (id, positions) => void loading?.then((lane) => lane.cancel(id, positions)),
    load: async (directory) => (await loaded()).load(directory),
    forget: (directory) => void loading?.then((lane) => lane.forget(directory)),
    abandon: (reason) => void loading?.then((lane) => lane.abandon(reason)),
    rest: () => void loading?.then((lane) => lane.rest()),
    close: async () => (await loading)?.close(),
  };
}
