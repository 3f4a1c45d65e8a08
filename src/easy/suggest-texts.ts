import { ResultAsync } from 'neverthrow';
import { type OrchardError, toOrchardError } from '../errors.js';
import type { Model } from './model.js';
import type { SuggestedText, SuggestOptions } from './suggestions/suggestion.js';

/**
 * Which of many unlabelled texts to label next, so that a model that is trained with them too gets better soonest: texts that
 * the model is unsure of, and that differ from each other. Each different text is suggested once. Memory is bounded by
 * `count`, however many texts there are, and the same texts and seed give the same suggestions.
 *
 * Fails with a ValidationError, an AbortedError, or as asking the model does.
 * @param texts read once, as fast as they are answered; each at most 100,000 UTF-16 code units.
 * @returns `count` texts, or all different ones if there are fewer; those first that the model is the least sure of.
 */
export function suggestTexts(
  model: Model,
  texts: Iterable<string> | AsyncIterable<string>,
  options: SuggestOptions = {},
): ResultAsync<readonly SuggestedText[], OrchardError> {
  const work = async () => (await import('./suggestions/suggest.js')).suggest(model, texts, options);
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'suggesting texts'));
}
