import type { UsageTerms } from '../../usage-terms.js';

/** What keeps a model from commercial use, and what to use instead, in one line. */
export function hindrance({ reasons, alternative }: UsageTerms): string {
  const because = `not for commercial use without asking those who hold the data: ${reasons.join('; ')}.`;
  return alternative === undefined ? because : `${because} Instead: ${alternative}`;
}
