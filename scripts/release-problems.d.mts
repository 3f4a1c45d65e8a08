export interface ReleaseState {
  readonly library: object;
  readonly models: object;
  readonly manifest: object;
  readonly lock: object;
  readonly changelog: string;
  readonly tag: string | undefined;
  readonly changedFiles: readonly string[];
}
export function releaseProblems(state: ReleaseState): readonly string[];
