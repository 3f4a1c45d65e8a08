import { err, ok, type Result } from 'neverthrow';
import type { InferenceResponse } from '../contract/index.js';
import { MedleyError, type OrchardError } from '../errors.js';
import type { Outcomes } from './ask-models.js';

/** Answers by the name of the model that gave them. */
export type MedleyAnswers<Answer> = Readonly<Record<string, Answer>>;

/** What one model answered. */
export interface ModelAnswer<Answer> {
  readonly answer: Answer;
  readonly elapsedMs: number;
}

/** All answers and the models' time together, or a MedleyError with those that there are. */
export function medleyResponse<Answer>(
  outcomes: Outcomes<ModelAnswer<Answer>>,
): Result<InferenceResponse<MedleyAnswers<Answer>>, MedleyError<Answer>> {
  const answers: [name: string, answer: Answer][] = [];
  const failures: [name: string, failure: OrchardError][] = [];
  let elapsedMs = 0;
  for (const [name, outcome] of outcomes) {
    if (outcome.isErr()) {
      failures.push([name, outcome.error]);
    } else {
      answers.push([name, outcome.value.answer]);
      elapsedMs += outcome.value.elapsedMs;
    }
  }
  const data = Object.fromEntries(answers);
  if (failures.length > 0) return err(new MedleyError(data, Object.fromEntries(failures)));
  return ok({ data, metadata: { model_inference_time_ms: elapsedMs } });
}
