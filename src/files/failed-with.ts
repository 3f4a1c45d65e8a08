/** True for the error of a system call that failed with one of these codes, such as `ENOENT`. */
export function failedWith(thrown: unknown, ...codes: string[]): boolean {
  return thrown instanceof Error && 'code' in thrown && codes.some((code) => code === thrown.code);
}
