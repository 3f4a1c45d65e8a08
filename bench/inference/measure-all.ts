import { BusyProcesses } from './busy-processes.js';
import { compare } from './compare.js';
import { type Models, subjectNames } from './models.js';
import { textEmbeddingsInference } from './published.js';
import { type Agreement, compareAnswers } from './same-answers.js';
import { type Scenario, scenariosFor, shortTexts } from './scenarios.js';
import { closeSides, openSides, type Side } from './sides.js';
import { type Measured, printAgreements, printMeasured, printRatios, printSides } from './tables.js';

export interface Comparison {
  /** Part of the names of the scenarios. */
  readonly only: string;
  readonly rounds: number;
  /** Of a round. */
  readonly texts: number;
  /** Numbers of busy processes; with any, only the main scenarios are measured. */
  readonly busy: readonly number[];
  readonly workers: number;
  readonly python: string | undefined;
}

/** Texts whose answers are compared, in one call. */
const CHECKED = 20;

/** Measures and prints every scenario that was asked for. */
export async function measureAll(models: Models, comparison: Comparison) {
  const measured: Measured[] = [];
  const agreements: Agreement[] = [];
  const notes: string[] = [textEmbeddingsInference];
  for (const subject of subjectNames) {
    const scenarios = scenariosFor(subject, comparison.texts).filter(({ name }) => name.includes(comparison.only));
    if (scenarios.length === 0) continue;
    const { sides, notes: leftOut } = await openSides(models, subject, comparison);
    try {
      notes.push(...leftOut);
      printSides(subject, sides);
      const agreed = await compareAnswers(models, subject, sides, shortTexts(subject, CHECKED));
      printAgreements(agreed);
      agreements.push(...agreed);
      for (const busy of comparison.busy) {
        measured.push(...(await measureBeside(busy, scenarios, sides, comparison.rounds)));
      }
    } finally {
      await closeSides(sides);
    }
  }
  printRatios(measured);
  for (const note of notes) console.log(note);
  return { measured, agreements, notes };
}

async function measureBeside(
  busy: number,
  scenarios: readonly Scenario[],
  sides: readonly Side[],
  rounds: number,
): Promise<Measured[]> {
  using _ = new BusyProcesses(busy);
  const measured: Measured[] = [];
  for (const { name, isMain, round } of scenarios) {
    if (busy > 0 && !isMain) continue;
    const each = { scenario: name, busy, results: await compare(sides, round, rounds) };
    printMeasured(each);
    measured.push(each);
  }
  return measured;
}
