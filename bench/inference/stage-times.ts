import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { z } from 'zod';

/** The stages whose times the package publishes, in the order in which a text goes through them. */
export const stageNames = ['queue', 'load', 'tokenize', 'run', 'decode'] as const;
export type StageName = (typeof stageNames)[number];

const traceSchema = z.looseObject({ startTime: z.number(), endTime: z.number() });

/** Listens to the package's tracing channels, from its making until it is stopped. */
export class StageTimes {
  readonly #times = new Map<StageName, number[]>(stageNames.map((stage) => [stage, []]));
  readonly #listeners = stageNames.map((stage) => ({
    channel: `tracing:orchard.${stage}:end`,
    listen: (message: unknown) => this.#note(stage, message),
  }));

  constructor() {
    for (const { channel, listen } of this.#listeners) subscribe(channel, listen);
  }

  stop(): void {
    for (const { channel, listen } of this.#listeners) unsubscribe(channel, listen);
  }

  /** Milliseconds, in the order in which they were published. */
  of(stage: StageName): readonly number[] {
    return this.#times.get(stage) ?? [];
  }

  /** The share of the lexical expert, the blend and the result in what threads did; null if nothing was published. */
  get decodingShare(): number | null {
    const total = (stage: StageName) => this.of(stage).reduce((sum, each) => sum + each, 0);
    const work = total('tokenize') + total('run') + total('decode');
    return work === 0 ? null : total('decode') / work;
  }

  #note(stage: StageName, message: unknown): void {
    const { startTime, endTime } = traceSchema.parse(message);
    this.#times.get(stage)?.push(endTime - startTime);
  }
}
