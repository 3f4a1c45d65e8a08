export interface RoomList {
  readonly ROOMS: readonly (readonly string[])[];
  readonly ENTRIES: readonly string[];
  readonly OUTSIDE: readonly string[];
}

export function roomProblems(root: string, list: RoomList, options?: { readonly exports?: boolean }): string[];
