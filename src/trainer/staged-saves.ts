import { isStagingLost, type Storage } from '../storage/index.js';

/**
 * Saves what a run has staged after each of its checkpoints, where the storage keeps what is staged to one machine.
 * One save at a time: a checkpoint that comes meanwhile is saved after it. A save that fails is made up for by the next.
 */
export class StagedSaves {
  readonly #save: () => Promise<void>;
  readonly #lost: () => void;
  #saving: Promise<void> | undefined;
  #isStale = false;
  #failure: { readonly thrown: unknown } | undefined;

  /** @param lost is called when another run has staged the folder: this one is to stop. */
  constructor(storage: Storage, id: string, lost: () => void) {
    this.#save = async () => storage.saveStaged?.(id);
    this.#lost = lost;
  }

  /** A checkpoint was written; it is saved in the background. */
  note(): void {
    this.#isStale = true;
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
  }

  /**
   * Does a run, and waits for the saves of one that stops. One that is complete has no checkpoint any more.
   * @throws an error that StagingLost is the cause of, if another run has taken over
   */
  during<T>(run: () => Promise<T>): Promise<T> {
    const running = run().then((result) => {
      this.#isStale = false;
      return result;
    });
    return running.finally(() => this.#allSaved());
  }

  async #allSaved(): Promise<void> {
    await this.#saving;
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  async #saveAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#save().catch((thrown: unknown) => {
        if (!isStagingLost(thrown)) return;
        this.#failure ??= { thrown };
        this.#lost();
      });
    }
  }
}
