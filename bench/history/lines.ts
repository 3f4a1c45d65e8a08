import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const measuredSchema = z.strictObject({
  /** The median of work / yardstick over the rounds; lower is better. */
  ratio: z.number(),
  /** The quartiles. */
  low: z.number(),
  high: z.number(),
});

const lineSchema = z.strictObject({
  /** Its first 12 characters; with a '+' where the working tree had changes. */
  commit: z.string(),
  /** Of the measurement, YYYY-MM-DD. */
  date: z.string(),
  machine: z.string(),
  rounds: z.number(),
  measured: z.record(z.string(), measuredSchema),
});

export type Measured = z.infer<typeof measuredSchema>;
export type HistoryLine = z.infer<typeof lineSchema>;

/** One measured commit a line, the earliest first. @throws where a line is none */
export function readHistory(file: string): readonly HistoryLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => lineSchema.parse(JSON.parse(line)));
}

/** Adds a line; one of the same commit and machine is replaced. @returns all lines */
export function addToHistory(file: string, line: HistoryLine): readonly HistoryLine[] {
  const others = readHistory(file).filter(({ commit, machine }) => commit !== line.commit || machine !== line.machine);
  const all = [...others, line];
  writeFileSync(file, all.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return all;
}
