import type { TrainingIsolation, TrainingRequest } from 'orchard-nlp';
import { SpeakingProcess } from '../support/speaking-process.js';

export interface LiveSettings {
  readonly directory: string;
  readonly isolation: TrainingIsolation;
  readonly request: TrainingRequest;
  readonly jobs: number;
}

/** A process that trains, asks and deletes (processes/live.ts), with what it has said so far. */
export class LiveProcess extends SpeakingProcess {
  constructor(settings: LiveSettings, TMPDIR: string) {
    super(new URL('./processes/live.ts', import.meta.url), settings, TMPDIR);
  }
}
