import type { StageTimes } from './lane.js';

/** Weight of the newest batch in what a model is thought to take. */
const NEWEST = 0.2;
/** What loading a model is thought to take before it was seen, in milliseconds. */
const LOAD_MS = 100;

/** Lost time counts half after so many milliseconds: only what is lost all the time is worth another copy. */
const FORGETTING_MS = 3000;

/** What is known of a model by running it. */
export class ModelFigures {
  loadMs = LOAD_MS;
  texts = 0;
  textMs = 0;
  /** Milliseconds a unit of work, lately; 0 before the first batch. */
  workMs = 0;
  #lostMs = 0;
  #lostAt = 0;

  /** Milliseconds for which idle lanes were of no use lately since they have not loaded the model. */
  get lostMs(): number {
    return this.#lostMs * 2 ** ((this.#lostAt - performance.now()) / FORGETTING_MS);
  }

  lose(ms: number): void {
    this.#lostMs = this.lostMs + ms;
    this.#lostAt = performance.now();
  }

  forgive(): void {
    this.#lostMs = 0;
  }

  add(times: StageTimes, texts: number, work: number): void {
    const elapsedMs = times.tokenize + times.run + times.decode;
    if (times.load > 0) this.loadMs = times.load;
    const mean = (known: number, seen: number) => (known === 0 ? seen : known + NEWEST * (seen - known));
    this.workMs = mean(this.workMs, elapsedMs / work);
    this.textMs = mean(this.textMs, elapsedMs / texts);
    this.texts += texts;
  }
}
