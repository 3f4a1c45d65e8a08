/** Errors on their way to another thread or process. */
import {
  AbortedError,
  ClosedError,
  DatasetError,
  DeadlineError,
  DeviceError,
  DownloadError,
  InstallationError,
  InternalError,
  MARKER,
  MedleyError,
  MemoryLimitError,
  ModelDownloadError,
  ModelFolderError,
  ModelNotReadyError,
  NotFoundError,
  type OrchardError,
  OverloadedError,
  QueueFullError,
  StorageError,
  TierError,
  TrainingError,
  TransitionError,
  ValidationError,
} from './errors.js';

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
  transition: TransitionError,
  tier: TierError,
  queue_full: QueueFullError,
  overloaded: OverloadedError,
  memory_limit: MemoryLimitError,
  deadline: DeadlineError,
  model_folder: ModelFolderError,
  device: DeviceError,
  training: TrainingError,
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
  const reason = cause instanceof Error ? cause.message : undefined;
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
