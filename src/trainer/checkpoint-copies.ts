import type { Storage } from '../storage/index.js';
import { checkpointTime } from '../training/index.js';

/** How often a checkpoint is looked for. */
const LOOK_EVERY_MS = 1_000;

/**
 * Stores each checkpoint of a run in the storage, where that is shared by machines: then the job goes on from it
 * elsewhere if this machine dies. What fails is made up for with the next checkpoint.
 */
export class CheckpointCopies {
  readonly #storage: Storage;
  readonly #id: string;
  readonly #directory: string;
  /** The time of the checkpoint that was stored last. */
  #stored: string | null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #saving: Promise<void> = Promise.resolve();
  #isSaving = false;

  /** @param present the time of the checkpoint that was there when the folder was staged. */
  constructor(
    storage: Storage,
    { id, directory, present }: { id: string; directory: string; present: string | null },
  ) {
    this.#storage = storage;
    this.#id = id;
    this.#directory = directory;
    this.#stored = present;
  }

  /** Stores a checkpoint that is new, in the background. Cheap enough for every event of a run. */
  look(): void {
    const now = performance.now();
    if (this.#storage.saveStaged === undefined || this.#isSaving || now - this.#lookedAt < LOOK_EVERY_MS)
      return;
    this.#lookedAt = now;
    void this.save();
  }

  /** Stores a checkpoint that is new, and resolves when nothing is being stored any more. Never rejects. */
  save(): Promise<void> {
    this.#isSaving = true;
    this.#saving = this.#saving
      .then(() => this.#saveNew())
      .catch(() => undefined)
      .finally(() => {
        this.#isSaving = false;
      });
    return this.#saving;
  }

  async #saveNew(): Promise<void> {
    const time = await checkpointTime(this.#directory);
    if (time === null || time === this.#stored) return;
    await this.#storage.saveStaged?.(this.#id);
    this.#stored = time;
  }
}
