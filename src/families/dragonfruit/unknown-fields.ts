import {
  counted,
  type DatasetLocation,
  type DatasetWarning,
  quoted,
  someOf,
  warnAbout,
} from '../../datasets/index.js';

/**
 * Collects fields of questions that nothing reads. They are worth a warning, as one of them may be misspelt.
 */
export class UnknownFields {
  readonly #names = new Set<string>();
  readonly #places: DatasetLocation[] = [];

  /** @param names of one question's unknown fields. */
  add(names: readonly string[], place: DatasetLocation): void {
    if (names.length === 0) return;
    for (const name of names) this.#names.add(name);
    this.#places.push(place);
  }

  warnings(): readonly DatasetWarning[] {
    const names = someOf(Array.from(this.#names, (name) => quoted(name)));
    const message = `${counted(this.#places.length, 'question')} with fields that are not read: ${names}`;
    return warnAbout('unknown_field', this.#places, message);
  }
}
