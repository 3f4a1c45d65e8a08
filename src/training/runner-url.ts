/** The built entry of the runner lies beside every built file of this package. */
export function runnerUrl(): URL {
  return new URL('./training-runner.js', import.meta.url);
}
