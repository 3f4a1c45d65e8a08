import { BusyProcesses } from '../inference/busy-processes.js';
import type { Peer } from '../training/peer.js';

export interface Contestant {
  readonly name: string;
  readonly peer: Peer;
}

export interface RoundOptions {
  /** After the first one, which shows how a contestant takes the change. */
  readonly rounds: number;
  /** Of each contestant in each round, about. */
  readonly seconds: number;
}

/** Mean milliseconds of a step in each round, the first one included, by the contestant's name. */
export interface Measured {
  readonly busy: number;
  readonly steps: ReadonlyMap<string, readonly number[]>;
}

/** Steps of a round whose speed is not known yet, and the fewest of any. */
const FEW = 2;

/** Lets contestants take turns beside busy processes. A mean, not a median: what trials cost is part of it. */
export async function measureBeside(
  busy: number,
  contestants: readonly Contestant[],
  { rounds, seconds }: RoundOptions,
): Promise<Measured> {
  using _ = new BusyProcesses(busy);
  const steps = new Map(contestants.map(({ name }): [string, number[]] => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const at of contestants.keys()) {
      const contestant = contestants[(at + round) % contestants.length];
      if (contestant !== undefined) {
        steps.get(contestant.name)?.push(mean(await takeSeconds(contestant.peer, seconds)));
      }
    }
  }
  return { busy, steps };
}

/** Steps for about so many seconds. @returns their milliseconds. */
async function takeSeconds(peer: Peer, seconds: number): Promise<readonly number[]> {
  const first = await peer.round(FEW);
  const left = Math.floor((1000 * seconds) / mean(first)) - FEW;
  return left < 1 ? first : [...first, ...(await peer.round(left))];
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
