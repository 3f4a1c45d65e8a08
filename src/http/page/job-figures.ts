import type { JobProgress } from '../schemas.js';
import type { Curve } from './curve-chart.js';
import type { Job } from './service.js';

/** The curves of a job: its training loss, and what it is measured by on the dev set. */
export interface JobFigures {
  /** Epochs completed: 1, 2, … */
  readonly epochs: readonly number[];
  readonly loss: readonly number[];
  readonly metrics: readonly Curve[];
}

/** Ranks up to which a question's passage counts as found, of the six in `topk`. */
const shownRanks = ['1', '10'] as const;

export function jobFigures({ training_stats: { metrics } }: Job): JobFigures {
  const { accuracy, f1, topk } = metrics.validation;
  const { loss } = metrics.training;
  return {
    epochs: loss.map((_, at) => at + 1),
    loss,
    metrics: [
      ...(accuracy ? [{ name: 'accuracy', values: accuracy }] : []),
      ...(f1 ? [{ name: 'F1', values: f1 }] : []),
      ...(topk
        ? shownRanks.map((rank) => ({ name: `top ${rank}`, values: topk.map((each) => each[rank]) }))
        : []),
    ],
  };
}

/** The loss curve with the epoch under way at its end: its mean so far, as far as the epoch has come. */
export function liveLoss(
  { epochs, loss }: JobFigures,
  progress: JobProgress | undefined,
): { readonly epochs: readonly number[]; readonly loss: readonly number[] } {
  if (progress?.loss === undefined || progress.steps === 0) return { epochs, loss };
  const now = (progress.step / progress.steps) * progress.epochs;
  const last = epochs.at(-1) ?? 0;
  return now > last ? { epochs: [...epochs, now], loss: [...loss, progress.loss] } : { epochs, loss };
}
