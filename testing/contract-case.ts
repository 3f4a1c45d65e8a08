/**
 * One promise of an interface's contract, as a test for any test runner:
 * `for (const { name, run } of storageContract(create)) it(name, run)`.
 */
export interface ContractCase {
  /** The promise, as the name of the test. */
  readonly name: string;
  /** Rejects with an `AssertionError` of node:assert if the promise is not kept. */
  run(): Promise<void>;
}
