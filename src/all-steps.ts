/** Runs steps to their end, with nothing in between. @returns what they come to */
export function allSteps<Value>(steps: Generator<undefined, Value>): Value {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
