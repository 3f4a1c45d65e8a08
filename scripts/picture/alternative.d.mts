export interface RecordedCommand {
  readonly command: string;
  readonly lines: readonly string[];
}
export function alternativeOf(session: readonly RecordedCommand[]): string;
