/** What jobs may do, as plain as can be: the oracle of the race tests. Independent of src/jobs/job-states.ts. */

/** What a caller can tell apart: a job that has not ended may start at any time. */
export type State = 'OPEN' | 'READY' | 'ERROR' | 'CANCELLED' | 'DELETED';

/** A part of a call that happens at once. A delete stops the job first and goes on then. */
export type Step = 'cancel' | 'stop' | 'delete' | 'predict' | 'get' | 'finish';

/** A call on one job, and what came of it: `ok`, the code of an error, or of `get` the state. */
export interface Call {
  readonly kind: Exclude<Step, 'stop'>;
  readonly outcome: string;
}

export const legal: Readonly<Record<string, readonly string[]>> = {
  '': ['CREATED'],
  CREATED: ['QUEUED', 'CANCELLED'],
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['READY', 'ERROR', 'CANCELLED'],
  READY: ['DELETED'],
  ERROR: ['DELETED'],
  CANCELLED: ['DELETED'],
  DELETED: [],
};

export function stateOf(status: string): State {
  if (status === 'READY' || status === 'ERROR' || status === 'CANCELLED' || status === 'DELETED') return status;
  return 'OPEN';
}

/** Whether these calls, made at the same time, lead from one state to the other in some order with these outcomes. */
export function canExplain(before: State, calls: readonly Call[], after: State): boolean {
  const threads = calls.map(({ kind, outcome }) => ({
    outcome,
    steps: kind === 'delete' ? (['stop', 'delete'] as const) : [kind],
  }));
  /** Two that cancel one running job at the same time both are told that it is cancelled. */
  const stoppers = calls.filter(({ kind }) => kind === 'cancel' || kind === 'delete').length;
  const isCancelledAnyway = before === 'OPEN' && stoppers > 1;
  const search = (state: State, done: readonly number[]): boolean => {
    if (threads.every(({ steps }, at) => done[at] === steps.length)) return state === after;
    return threads.some(({ steps, outcome }, at) => {
      const count = done[at] ?? 0;
      const step = steps[count];
      if (step === undefined) return false;
      const isLast = count === steps.length - 1;
      const next = applied(state, step, isCancelledAnyway);
      if (isLast && !next.outcomes.includes(outcome)) return false;
      return search(next.state, done.with(at, count + 1));
    });
  };
  return search(
    before,
    threads.map(() => 0),
  );
}

function applied(state: State, step: Step, isCancelledAnyway: boolean): { state: State; outcomes: readonly string[] } {
  switch (step) {
    case 'cancel':
      if (state === 'OPEN') return { state: 'CANCELLED', outcomes: ['ok'] };
      if (state === 'CANCELLED' || state === 'DELETED') {
        return { state, outcomes: isCancelledAnyway ? ['ok', 'transition'] : ['transition'] };
      }
      return { state, outcomes: ['transition'] };
    case 'stop':
      return { state: state === 'OPEN' ? 'CANCELLED' : state, outcomes: [] };
    case 'delete':
      return { state: 'DELETED', outcomes: ['ok'] };
    case 'finish':
      return { state: state === 'OPEN' ? 'READY' : state, outcomes: ['ok'] };
    case 'get':
      return { state, outcomes: [state] };
    case 'predict':
      if (state === 'READY') return { state, outcomes: ['ok'] };
      return { state, outcomes: [state === 'DELETED' ? 'not_found' : 'model_not_ready'] };
  }
}
