/** What is wrong with an option or argument. */
export interface UsageProblem {
  /** Its name, without dashes. */
  readonly name: string;
  /** What is wrong, and what to give. */
  readonly message: string;
}

/** A command was called in a way that it can't be: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  /** @param problems by option or argument; none where the message says it all */
  constructor(
    message: string,
    readonly problems: readonly UsageProblem[] = [],
  ) {
    super(message);
  }
}
