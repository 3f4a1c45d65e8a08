import { ValidationError } from '../contract/index.js';
import { modelAsOfNow } from '../models/index.js';
import { absolutePath, listAsOfNow, lostInput } from '../system/index.js';

/** Paths and arrays are those of the call: an application may change its working directory, or an array, while a call works. */

const PATHS = ['path', 'output', 'dev', 'test', 'texts', 'rows', 'answers'] as const;
/** Folders or names of models, or arrays of them. */
const MODELS = ['base', 'model', 'teacher'] as const;
type Paths = { readonly [Name in (typeof PATHS | typeof MODELS)[number]]?: unknown };

/**
 * The same options, with absolute paths and copies of arrays. Other values, such as iterables of rows, stay as they are.
 * What is no object of options is returned as it is, for the checks to refuse.
 */
export function withAbsolutePaths<Options extends Paths>(options: Options): Options {
  if (typeof options !== 'object' || Array.isArray(options)) return options;
  const copy = { ...options };
  for (const [name, value] of Object.entries(copy)) Reflect.set(copy, name, listAsOfNow(value));
  for (const name of PATHS) if (typeof copy[name] === 'string') Reflect.set(copy, name, asOfNow(copy[name]));
  for (const name of MODELS) if (name in copy) Reflect.set(copy, name, placed(copy[name]));
  return copy;
}

function placed(model: unknown): unknown {
  if (Array.isArray(model)) return model.map(placed);
  return typeof model === 'string' ? modelAsOfNow(model) : model;
}

interface WhatIsRead {
  /** Paths. Values that are not paths, such as rows, are skipped. */
  readonly inputs: readonly unknown[];
  /** Folders or names of models, which may be in the output folder's place, but not in it. Default: none. */
  readonly models?: readonly (string | undefined)[];
}

/** The folder of a model is replaced with all that is in it. @throws ValidationError if that is also read */
export async function requireNotRead(output: string | undefined, { inputs, models }: WhatIsRead): Promise<void> {
  const paths = inputs.filter((input) => typeof input === 'string');
  const lost = await lostInput(output, { inputs: paths, ...(models && { replaceable: models }) });
  if (lost === undefined) return;
  const msg = `writing ${output} would destroy ${lost}, which is read; give another folder`;
  throw new ValidationError([{ loc: ['output'], msg, type: 'is_read' }]);
}

/** @param given the path of a file, or rows */
export function asOfNow<Given>(given: Given): Given | string {
  const isPath = typeof given === 'string' && given !== '' && (!URL.canParse(given) || /^file:/i.test(given));
  return isPath ? absolutePath(given) : listAsOfNow(given);
}
