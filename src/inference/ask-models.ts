import { MAX_CONCURRENT_MODELS, type OrchardError, toOrchardError } from '../contract/index.js';

/** What became of one model that was asked. */
type Outcome<Answer> = { readonly answer: Answer } | { readonly failure: OrchardError };

/** What became of each, by its name. */
export type Outcomes<Answer> = ReadonlyMap<string, Outcome<Answer>>;

/**
 * Asks models in their order, at most two at the same time; one that fails does not stop the others.
 * @param signal once it fires, no further model is asked.
 * @returns the outcomes in the order of `names`.
 */
export async function askModels<Answer>(
  names: readonly string[],
  ask: (name: string) => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Outcomes<Answer>> {
  const outcomes: [name: string, outcome: Outcome<Answer>][] = [];
  // One iterator for all lanes: each takes the next name when its last one has answered.
  const waiting = names.values();
  const lane = async () => {
    for (const name of waiting) {
      if (signal?.aborted) return;
      try {
        outcomes.push([name, { answer: await ask(name) }]);
      } catch (thrown) {
        outcomes.push([name, { failure: toOrchardError(thrown, `asking model ${name}`) }]);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_MODELS }, lane));
  return new Map(outcomes.sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}
