/**
 * One sentence of an interface's contract, as a test for any runner:
 * `for (const { name, run } of storageContract(create)) it(name, run)`.
 */
export interface ContractCase {
  /** What is promised. */
  readonly name: string;
  /** Rejects with an `AssertionError` of node:assert where the promise is not kept. */
  run(): Promise<void>;
}
