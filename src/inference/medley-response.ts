import { type InferenceResponse, MedleyError, type OrchardError } from '../contract/index.js';
import type { Outcomes } from './ask-models.js';

/** Answers by the name of the model that gave them. */
export type MedleyAnswers<Answer> = Readonly<Record<string, Answer>>;

/** All answers and the models' time together, or a MedleyError with those that there are. */
export function medleyResponse<Answer>(
  outcomes: Outcomes<InferenceResponse<Answer>>,
): InferenceResponse<MedleyAnswers<Answer>> | MedleyError<Answer> {
  const answers: [name: string, answer: Answer][] = [];
  const failures: [name: string, failure: OrchardError][] = [];
  const truncated = new Set<number>();
  let elapsedMs = 0;
  for (const [name, outcome] of outcomes) {
    if ('failure' in outcome) {
      failures.push([name, outcome.failure]);
    } else {
      answers.push([name, outcome.answer.data]);
      const { metadata } = outcome.answer;
      elapsedMs += metadata.model_inference_time_ms;
      for (const position of metadata.truncated ?? []) truncated.add(position);
    }
  }
  const data = Object.fromEntries(answers);
  if (failures.length > 0) return new MedleyError(data, Object.fromEntries(failures));
  const positions = [...truncated].sort((a, b) => a - b);
  return {
    data,
    metadata: { model_inference_time_ms: elapsedMs, ...(positions.length > 0 && { truncated: positions }) },
  };
}
