import type { Result, ResultAsync } from 'neverthrow';
import { MAX_CONCURRENT_MODELS } from '../contract/index.js';
import type { OrchardError } from '../errors.js';

/** What became of each model that was asked, by its name. */
export type Outcomes<Value> = ReadonlyMap<string, Result<Value, OrchardError>>;

/**
 * Asks models in their order, at most two at the same time; one that fails does not stop the others.
 * @param signal once it fires, no further model is asked.
 * @returns the outcomes in the order of `names`.
 */
export async function askModels<Value>(
  names: readonly string[],
  ask: (name: string) => ResultAsync<Value, OrchardError>,
  signal?: AbortSignal,
): Promise<Outcomes<Value>> {
  const outcomes: [name: string, outcome: Result<Value, OrchardError>][] = [];
  // One iterator for all lanes: each takes the next name when its last one has answered.
  const waiting = names.values();
  const lane = async () => {
    for (const name of waiting) {
      if (signal?.aborted) return;
      outcomes.push([name, await ask(name)]);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_MODELS }, lane));
  return new Map(outcomes.sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}
