export const BENCHES: Readonly<Record<string, string>>;
