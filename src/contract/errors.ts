import type { Result } from 'neverthrow';

/**
 * Every way an Orchard call can fail, as one closed union. Each class is something that a caller
 * would handle differently; `code` is its literal name, `cause` the underlying error.
 */

/** Marks our errors across duplicate copies of the package, where `instanceof` would miss them. */
const MARKER = Symbol.for('orchard-nlp.error');

/** The fields that every error of Orchard has. */
abstract class OrchardErrorBase extends Error {
  /** The code of the class, which narrows an {@link OrchardError}, for example in a switch. */
  abstract readonly code: string;
  readonly [MARKER] = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One thing wrong with a request. */
export interface ValidationProblem {
  /** Where it is: a path into the input, such as `['model_config', 'name']`. */
  readonly loc: readonly (string | number)[];
  /** What is wrong, and what to do. */
  readonly msg: string;
  /** A stable name of the kind of problem, such as `missing` (docs/service-errors.md, "Errors"). */
  readonly type: string;
}

/** An argument or option of the call is not valid. Nothing was done. */
export class ValidationError extends OrchardErrorBase {
  readonly code = 'validation';
  constructor(
    /** Everything that is wrong, not only the first. */
    readonly problems: readonly ValidationProblem[],
  ) {
    super(problems.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join('.')}: ${msg}` : msg)).join('; '));
  }
}

/** One thing wrong in a dataset, or worth knowing about it. */
export interface DatasetProblem {
  /**
   * Path inside the archive, or the archive's own name for a problem of the whole archive. Without an archive, the name of
   * the file of rows; for rows in memory, the name of the option.
   */
  readonly file: string;
  /** 1-based line, if the problem has one. */
  readonly line?: number;
  /** 1-based column (UTF-16 code units), or the name of a field, if the problem has one. */
  readonly column?: number | string;
  /** What was found. */
  readonly found: string;
  /** What the format requires. */
  readonly expected: string;
}

/** How many problems a {@link DatasetError} lists; `total` counts the rest too. */
export const MAX_LISTED_PROBLEMS = 100;

/** A problem as one line: `train.tsv line 4,182, column label: found 7; expected an id of label_id.json (0 to 5)`. */
export function describeDatasetProblem(problem: DatasetProblem): string {
  const line = problem.line === undefined ? '' : ` line ${problem.line.toLocaleString('en-US')}`;
  const column = problem.column === undefined ? '' : `, column ${problem.column}`;
  return `${problem.file}${line}${column}: ${problem.found}; expected ${problem.expected}`;
}

/** The dataset was found, but can't be used for training. Lists up to {@link MAX_LISTED_PROBLEMS} problems. */
export class DatasetError extends OrchardErrorBase {
  readonly code = 'dataset';
  /** In the order in which they were found. */
  readonly problems: readonly DatasetProblem[];
  /** The number of problems, including those that are not listed. */
  readonly total: number;

  constructor(problems: readonly DatasetProblem[], total = problems.length, options?: ErrorOptions) {
    const listed = problems.slice(0, MAX_LISTED_PROBLEMS);
    const more = total > 1 ? ` (and ${(total - 1).toLocaleString('en-US')} more)` : '';
    super(listed[0] === undefined ? 'the dataset has no rows' : describeDatasetProblem(listed[0]) + more, options);
    this.problems = listed;
    this.total = total;
  }
}

/** The dataset can't be downloaded: its URL is unreachable or refused, or it is too large or too slow. */
export class DownloadError extends OrchardErrorBase {
  readonly code = 'download';
  constructor(
    readonly url: string,
    reason: string,
    /** HTTP status of the server's answer, if there was one. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(`the dataset at ${shownUrl(url)}: ${reason}`, options);
  }
}

/** A URL as messages show it: its query string and credentials may be secrets, such as the signature of a stored object. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text.replace(/[?#].*$/s, '?…');
  const url = new URL(text);
  const hasQuery = url.search !== '';
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  return hasQuery ? `${url.href}?…` : url.href;
}

/**
 * A file of a model can't be downloaded: the server is unreachable or refuses, or what it sends is never the announced
 * file.
 */
export class ModelDownloadError extends OrchardErrorBase {
  readonly code = 'model_download';
  /** Absent if the list of the model's files could not be downloaded. */
  readonly file?: string;
  /** HTTP status of the server's answer, if there was one. */
  readonly status?: number;

  constructor(
    /** The name that was asked for. */
    readonly model: string,
    readonly url: string,
    reason: string,
    { file, status, ...options }: ErrorOptions & { readonly file?: string; readonly status?: number } = {},
  ) {
    super(`model ${model}${file === undefined ? '' : `, ${file}`}: ${reason} (${shownUrl(url)})`, options);
    if (file !== undefined) this.file = file;
    if (status !== undefined) this.status = status;
  }
}

/** There is no such model, training job, pretrained model, backbone or version for this account. */
export class NotFoundError extends OrchardErrorBase {
  readonly code = 'not_found';
  constructor(
    /** What was looked for. */
    readonly resource: 'model' | 'training job' | 'pretrained model' | 'backbone' | 'version',
    /** Its id or name. */
    readonly id: string,
    /** What exists instead, or where it was looked for. May be empty. */
    readonly hint = '',
  ) {
    super(`no ${resource} ${JSON.stringify(id)}${hint === '' ? '' : `: ${hint}`}`);
  }
}

/** The model exists but can't answer in its present status. */
export class ModelNotReadyError extends OrchardErrorBase {
  readonly code = 'model_not_ready';
  constructor(
    readonly id: string,
    /** Its training job status, such as QUEUED. */
    readonly status: string,
    hint = 'a model answers once its status is READY',
  ) {
    super(`model ${id} is ${status}: ${hint}`);
  }
}

/** A model can't be deleted, because names point to it or use it as their shadow. */
export class ModelInUseError extends OrchardErrorBase {
  readonly code = 'model_in_use';
  constructor(
    readonly id: string,
    /** Such as `support@production`. */
    readonly names: readonly string[],
  ) {
    super(
      `model ${id} is in use by ${names.join(', ')}; promote another model there, clear the shadow or delete the name first`,
    );
  }
}

/** A name can't return to the model that it pointed to before. */
export class RollbackError extends OrchardErrorBase {
  readonly code = 'rollback';
  constructor(
    /** Such as `support@production`. */
    readonly version: string,
    /** Why, and what to do. */
    reason: string,
  ) {
    super(`${version} can't be rolled back: ${reason}`);
  }
}

/** How a job ended, by its status. */
const ends: Readonly<Record<string, string>> = {
  READY: 'it has already been trained',
  ERROR: 'it has already failed',
  CANCELLED: 'it has already been cancelled',
  DELETED: 'its model has been deleted',
};

/** A job can't go from its present status to the one asked for. */
export class TransitionError extends OrchardErrorBase {
  readonly code = 'transition';
  constructor(
    readonly id: string,
    /** The status that it has. */
    readonly from: string,
    /** The status that was asked for. */
    readonly to: string,
  ) {
    const refused = to === 'CANCELLED' ? "can't be cancelled" : `can't become ${to}`;
    super(`training job ${id} ${refused}: ${ends[from] ?? `it is ${from}`}`);
  }
}

/** The account's tier doesn't include this operation. */
export class TierError extends OrchardErrorBase {
  readonly code = 'tier';
  constructor(
    /** The subject of the message "… needs the pro tier". */
    readonly operation: string,
  ) {
    super(`${operation} needs the pro tier`);
  }
}

/** The account already has as many jobs waiting as are allowed. */
export class QueueFullError extends OrchardErrorBase {
  readonly code = 'queue_full';
  constructor(
    /** How many jobs are waiting. */
    readonly waiting: number,
  ) {
    super(
      `this account already has ${waiting} training job${waiting === 1 ? '' : 's'} waiting; try again when a job has ended`,
    );
  }
}

/** Too many texts are already waiting for models. Nothing was done. */
export class OverloadedError extends OrchardErrorBase {
  readonly code = 'overloaded';
  constructor(
    /** How many texts are waiting. */
    readonly waiting: number,
    /** Estimate of the milliseconds needed to answer them. There may be room again after half of that time. */
    readonly waitingMs: number,
    /** What is full: the queue of all accounts, or the share of the account that asked. */
    readonly limit: 'queue' | 'account' = 'queue',
  ) {
    const whose = limit === 'account' ? ' of this account' : '';
    super(
      `${waiting} ${waiting === 1 ? `text${whose} is` : `texts${whose} are`} already waiting; try again later, or send fewer texts at a time`,
    );
  }
}

/** Something needs more memory than the limit allows, even if everything else were unloaded. */
export class MemoryLimitError extends OrchardErrorBase {
  readonly code = 'memory_limit';
  constructor(
    /** What needs the memory, in words. */
    readonly what: string,
    /** Estimate of the memory needed, in bytes. */
    readonly bytes: number,
    /** The limit, in bytes. */
    readonly limit: number,
  ) {
    // Rounded apart, so that the two never read the same.
    const needed = Math.ceil(bytes / 2 ** 20).toLocaleString('en-US');
    const allowed = Math.floor(limit / 2 ** 20).toLocaleString('en-US');
    super(
      `${what} needs about ${needed} MiB of memory, but the limit is ${allowed} MiB (\`memoryLimit\`); allow more memory or use a smaller model`,
    );
  }
}

/** The deadline of the call passed before there was an answer. */
export class DeadlineError extends OrchardErrorBase {
  readonly code = 'deadline';
  constructor(
    /** The deadline, in milliseconds from the call. */
    readonly deadlineMs: number,
  ) {
    super(`no answer within the deadline of ${deadlineMs} ms`);
  }
}

/** Maximum number of UTF-16 code units of a reason in a message: it may quote names of an untrusted file. */
const MAX_REASON = 1000;

function shortened(reason: string): string {
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)} …` : reason;
}

/** A model folder lacks a file, or holds one that doesn't fit. */
export class ModelFolderError extends OrchardErrorBase {
  readonly code = 'model_folder';
  constructor(
    /** Its path. */
    readonly file: string,
    /** What is wrong with it; the message has its first 1,000 characters. */
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${file}: ${shortened(reason)}`, options);
  }
}

/** A GPU or another device can't be used, or failed during a computation. */
export class DeviceError extends OrchardErrorBase {
  readonly code = 'device';
  constructor(
    /** Such as `webgpu`. */
    readonly device: string,
    /** `start`: before any computation. `run`: during one. */
    readonly when: 'start' | 'run',
    /** What is wrong with it; the message has its first 1,000 characters. */
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    const failed = when === 'start' ? "can't be used" : 'failed';
    super(`the device ${device} ${failed}: ${shortened(reason)}`, options);
  }
}

/** Training started but could not be finished. */
export class TrainingError extends OrchardErrorBase {
  readonly code = 'training';
}

/** Options of the constructor of {@link TeacherError}. */
export interface TeacherErrorOptions extends ErrorOptions {
  readonly answered: number;
  readonly left: number;
  readonly answers: string | undefined;
}

/** The teacher function of `distill` failed in every attempt of a call. Its earlier answers are kept. */
export class TeacherError extends OrchardErrorBase {
  readonly code = 'teacher';
  /** Number of texts that have an answer. */
  readonly answered: number;
  /** Number of texts that have no answer yet. */
  readonly left: number;
  /** The path of the file of answers. Undefined if they are not kept; `distill` always keeps those of a function. */
  readonly answers: string | undefined;

  constructor(reason: string, { answered, left, answers, ...options }: TeacherErrorOptions) {
    const [kept, open] = [answered, left].map((count) => count.toLocaleString('en-US'));
    const advice =
      answers === undefined
        ? 'call again'
        : `${kept} ${answered === 1 ? 'answer is' : 'answers are'} kept in ${answers}; make the same call again to continue with the remaining ${open}`;
    super(`${shortened(reason)}; ${advice}`, options);
    this.answered = answered;
    this.left = left;
    this.answers = answers;
  }
}

/** Options of the constructor of {@link StorageError}. */
export interface StorageErrorOptions extends ErrorOptions {
  /** Default false. */
  readonly isUnavailable?: boolean;
}

/** The storage failed. What was being written is either complete or absent. */
export class StorageError extends OrchardErrorBase {
  readonly code = 'storage';
  /**
   * Whether the storage could not be reached, for example because a database restarts. The same call may succeed soon.
   */
  readonly isUnavailable: boolean;

  constructor(message: string, { isUnavailable = false, ...options }: StorageErrorOptions = {}) {
    super(message, options);
    this.isUnavailable = isUnavailable;
  }
}

/** A part of the installation is missing: a package, a native library, or a file of this library in a bundle. */
export class InstallationError extends OrchardErrorBase {
  readonly code = 'installation';
  constructor(
    /** What is missing: the name of the package or of the file. */
    readonly missing: string,
    /** Why it is missing, if known, and what to run or set. */
    readonly advice: string,
    options?: ErrorOptions,
  ) {
    super(`${missing}: ${advice}`, options);
  }
}

/** The caller's AbortSignal fired. */
export class AbortedError extends OrchardErrorBase {
  readonly code = 'aborted';
  constructor(operation: string, options?: ErrorOptions) {
    super(`${operation} was aborted`, options);
  }
}

/**
 * Some models of a medley failed. The answers of the others are kept: each model is either in `answers` or in
 * `failures`, by its name.
 */
export class MedleyError<Answer = unknown> extends OrchardErrorBase {
  readonly code = 'medley';
  constructor(
    /** The answers of the other models, by the model's name. */
    readonly answers: Readonly<Record<string, Answer>>,
    /** The error of each model that failed, by the model's name. */
    readonly failures: Readonly<Record<string, OrchardError>>,
  ) {
    const failed = Object.entries(failures).map(([name, { message }]) => `${name}: ${message}`);
    const answered = Object.keys(answers).length;
    const asked = failed.length + answered;
    super(`${answered} of ${asked} models answered; ${failed.join('; ')}`);
  }
}

/** The model, trainer, predictor, medley, search index or service was closed before the call. */
export class ClosedError extends OrchardErrorBase {
  readonly code = 'closed';
  constructor(what: string) {
    super(`this ${what} is closed; create a new one`);
  }
}

/** A bug in Orchard or in a runtime that it uses. Please report it with its cause. */
export class InternalError extends OrchardErrorBase {
  readonly code = 'internal';
}

/** The closed union of everything an Orchard call can fail with. */
export type OrchardError =
  | ValidationError
  | DatasetError
  | DownloadError
  | ModelDownloadError
  | NotFoundError
  | ModelNotReadyError
  | ModelInUseError
  | RollbackError
  | TransitionError
  | TierError
  | QueueFullError
  | OverloadedError
  | MemoryLimitError
  | DeadlineError
  | ModelFolderError
  | DeviceError
  | TrainingError
  | TeacherError
  | StorageError
  | InstallationError
  | AbortedError
  | MedleyError
  | ClosedError
  | InternalError;

/** Whether a value is an Error, of this realm or another, as in tests under Jest. */
export function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}

/** What a thrown value says. */
export function messageOf(thrown: unknown): string {
  return isError(thrown) ? thrown.message : String(thrown);
}

/** True for any OrchardError, even one made by another copy of this package. */
export function isOrchardError(error: unknown): error is OrchardError {
  return typeof error === 'object' && error !== null && MARKER in error;
}

/**
 * Turns anything thrown into a member of the union: an OrchardError stays as it is, a disk that fails becomes a
 * {@link StorageError}, anything else an {@link InternalError}.
 * @param doing what failed, for the message.
 */
export function toOrchardError(thrown: unknown, doing: string): OrchardError {
  if (isOrchardError(thrown)) return thrown;
  const reason = messageOf(thrown);
  const flag = missingPermission(thrown);
  if (flag !== undefined) {
    if (!flag.startsWith('--allow-fs')) {
      return new InstallationError(flag, `${doing} needs this flag when Node.js runs with --permission`, {
        cause: thrown,
      });
    }
    const place = isError(thrown) && 'resource' in thrown ? ` for ${String(thrown.resource)}` : '';
    return new StorageError(`${doing}: Node.js runs with --permission but without ${flag}${place}; add this flag`, {
      cause: thrown,
    });
  }
  if (isMediumFailure(thrown)) return new StorageError(`${doing}: ${reason}`, { cause: thrown });
  return new InternalError(`${doing}: ${reason}`, { cause: thrown });
}

/** By the names that Node.js gives the permissions. */
const PERMISSION_FLAGS: Readonly<Record<string, string>> = {
  FileSystemRead: '--allow-fs-read',
  FileSystemWrite: '--allow-fs-write',
  ChildProcess: '--allow-child-process',
  WorkerThreads: '--allow-worker',
};

/** The flag of Node.js that would have allowed a call which its permission model refused. */
export function missingPermission(thrown: unknown): string | undefined {
  if (!(isError(thrown) && 'code' in thrown && thrown.code === 'ERR_ACCESS_DENIED')) return undefined;
  return 'permission' in thrown ? PERMISSION_FLAGS[String(thrown.permission)] : undefined;
}

/**
 * The value of a call of this library, for code that prefers exceptions: `await using model = await
 * orThrow(loadModel('…'))`.
 * @throws the error that the call fails with; its `code` says which kind it is
 */
export async function orThrow<Value, Failure extends Error>(call: PromiseLike<Result<Value, Failure>>): Promise<Value> {
  const result = await call;
  if (result.isErr()) throw result.error;
  return result.value;
}

/** True for the error of a system call that the disk failed: full, over quota, read-only or broken. */
export function isDiskFailure(thrown: unknown): boolean {
  const codes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'];
  return isError(thrown) && 'code' in thrown && codes.some((code) => code === thrown.code);
}

/** The same, or the file system forbade the call. */
function isMediumFailure(thrown: unknown): boolean {
  if (!isError(thrown) || !('code' in thrown)) return false;
  return isDiskFailure(thrown) || ((thrown.code === 'EACCES' || thrown.code === 'EPERM') && 'path' in thrown);
}

/** An error as plain data, to be sent to another thread or process. */
export interface ErrorDescription {
  readonly code: OrchardError['code'];
  readonly message: string;
  readonly stack: string | undefined;
  /** The class's own fields, such as `problems`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Message of the underlying error. */
  readonly cause: string | undefined;
}

const classes: { readonly [Code in OrchardError['code']]: { readonly prototype: OrchardError } } = {
  validation: ValidationError,
  dataset: DatasetError,
  download: DownloadError,
  model_download: ModelDownloadError,
  not_found: NotFoundError,
  model_not_ready: ModelNotReadyError,
  model_in_use: ModelInUseError,
  rollback: RollbackError,
  transition: TransitionError,
  tier: TierError,
  queue_full: QueueFullError,
  overloaded: OverloadedError,
  memory_limit: MemoryLimitError,
  deadline: DeadlineError,
  model_folder: ModelFolderError,
  device: DeviceError,
  training: TrainingError,
  teacher: TeacherError,
  storage: StorageError,
  installation: InstallationError,
  aborted: AbortedError,
  medley: MedleyError,
  closed: ClosedError,
  internal: InternalError,
};

/** An error in a form that {@link reviveError} takes. */
export function describeError(error: OrchardError): ErrorDescription {
  const { code, message, stack, cause, ...fields } = error;
  const reason = isError(cause) ? cause.message : undefined;
  return { code, message, stack, fields, cause: reason };
}

/** The error that {@link describeError} described: of the same class, with the same fields. */
export function reviveError({ code, message, stack, fields, cause }: ErrorDescription): OrchardError {
  const error: OrchardError = Object.create(classes[code].prototype);
  return Object.assign(error, fields, {
    code,
    name: classes[code].prototype.constructor.name,
    message,
    stack,
    [MARKER]: true,
    ...(cause !== undefined && { cause: new Error(cause) }),
  });
}

/** Failures of a single text of several; after any other failure, the next text would fail too. */
export const OF_ONE_TEXT: readonly OrchardError['code'][] = ['validation', 'deadline', 'internal'];
