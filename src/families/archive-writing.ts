import { ResultAsync } from 'neverthrow';
import { type DatasetWarning, writeZip } from '../datasets/index.js';
import { type OrchardError, toOrchardError, ValidationError } from '../errors.js';

/** Share of the rows that dev gets if no dev rows are given. */
export const DEFAULT_DEV_FRACTION = 0.1;

/** The options that the makers of all archives share. */
export interface ArchiveOptions<Source> {
  /** The rows to train on. */
  readonly rows: Source;
  /** Default: some of `rows` are set aside. */
  readonly devRows?: Source | undefined;
  /** DATASET_NAME and the folder inside the zip: 1 to 100 letters, digits, ".", "_" and "-". */
  readonly name: string;
  /** Default: the name. */
  readonly description?: string | undefined;
  /** Share of the rows to set aside for dev, above 0 and below 1. Default {@link DEFAULT_DEV_FRACTION}. */
  readonly devFraction?: number | undefined;
  /** Decides which rows are set aside. Default 0. */
  readonly seed?: number | undefined;
}

/** What is reported of every archive that was written. */
export interface ArchiveSummary {
  /** Where the zip was written. */
  readonly path: string;
  /** Rows to train on. */
  readonly train: number;
  /** Rows to evaluate on. */
  readonly dev: number;
  /** Rows left out because an earlier row of their split is the same. */
  readonly removedDuplicates: number;
  /** What training would warn of. */
  readonly warnings: readonly DatasetWarning[];
}

/** Checks the options that all archives share. @throws ValidationError for the first that is invalid. */
export function checkArchiveOptions(options: Omit<ArchiveOptions<unknown>, 'rows' | 'devRows'>): void {
  const { name, devFraction = DEFAULT_DEV_FRACTION, seed = 0 } = options;
  if (!/^(?!\.+$)[\w.-]{1,100}$/.test(name)) {
    throw invalidOption('name', 'give 1 to 100 letters, digits, ".", "_" and "-"');
  }
  if (!(devFraction > 0 && devFraction < 1)) {
    throw invalidOption('devFraction', 'give a number above 0 and below 1');
  }
  if (!Number.isSafeInteger(seed)) throw invalidOption('seed', 'give a whole number');
}

export function invalidOption(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [name], msg, type: 'invalid_option' }]);
}

/** A value as the text of a JSON file, indented. */
export function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** An archive in memory. */
export interface PreparedArchive<Summary extends ArchiveSummary> {
  /** The text of each file, by its path in the archive. */
  readonly files: Readonly<Record<string, string>>;
  readonly summary: Omit<Summary, 'path'>;
}

/** Prepares an archive and writes it. Whatever is thrown on the way becomes the error of the result here. */
export function writeArchive<Summary extends ArchiveSummary>(
  prepare: () => Promise<PreparedArchive<Summary>>,
  path: string,
): ResultAsync<Omit<Summary, 'path'> & { readonly path: string }, OrchardError> {
  const write = async () => {
    const { files, summary } = await prepare();
    await writeZip(path, files);
    return { ...summary, path };
  };
  return ResultAsync.fromPromise(write(), (thrown) => toOrchardError(thrown, `making ${path}`));
}
