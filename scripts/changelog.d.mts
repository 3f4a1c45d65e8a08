export interface ChangelogSection {
  readonly heading: string;
  readonly version: string | undefined;
  /** YYYY-MM-DD. Absent: not yet released. */
  readonly date: string | undefined;
  readonly notes: string;
}
export function sectionsOf(changelog: string): readonly ChangelogSection[];
export function changelogProblems(changelog: string, packageVersion: string): readonly string[];
