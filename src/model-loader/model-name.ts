import { ValidationError } from '../errors.js';

/** The parts of `owner/name@revision`. */
export interface ModelName {
  /** `owner/name`, or `name`. */
  readonly path: string;
  readonly revision?: string;
}

/**
 * One or two parts of letters, digits, `_`, `.` and `-`, the last two not in front; as on the Hugging Face
 * Hub.
 */
const PATH = /^[\p{L}\p{N}_][\p{L}\p{N}._-]*(?:\/[\p{L}\p{N}_][\p{L}\p{N}._-]*)?$/u;
/** A branch, a tag, a commit, or a pull request's `refs/pr/1`. */
const REVISION = /^\w[\w.-]*(?:\/\w[\w.-]*)*$/;

/** @throws ValidationError for an invalid name, such as one that would lead out of a folder. */
export function parseModelName(name: string): ModelName {
  const at = name.indexOf('@');
  const path = at === -1 ? name : name.slice(0, at);
  if (!PATH.test(path) || path.includes('..')) throw invalid(name, 'give `name` or `owner/name`');
  if (at === -1) return { path };
  const revision = name.slice(at + 1);
  checkRevision(revision, name);
  return { path, revision };
}

/** @throws ValidationError */
export function checkRevision(revision: string, name: string): void {
  if (REVISION.test(revision) && !revision.includes('..')) return;
  throw invalid(name, `${JSON.stringify(revision)} is not a revision; give a branch, a tag or a commit`);
}

function invalid(name: string, advice: string): ValidationError {
  const msg = `${JSON.stringify(name)} is not a model's name; ${advice}`;
  return new ValidationError([{ loc: ['model'], msg, type: 'model_name' }]);
}
