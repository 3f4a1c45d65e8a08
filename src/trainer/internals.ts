import { type Clock, systemClock } from './clock.js';

/** What tests put in the place of the system's. */
export interface TrainerInternals {
  readonly clock: Clock;
}

const given = new WeakMap<object, TrainerInternals>();

/** The same options, for a trainer with these internals: for tests, and exported by no entry of the package. */
export function withInternals<Options extends object>(
  options: Options,
  internals: TrainerInternals,
): Options {
  const own = { ...options };
  given.set(own, internals);
  return own;
}

export function internalsOf(options: object): TrainerInternals {
  return given.get(options) ?? { clock: systemClock };
}
