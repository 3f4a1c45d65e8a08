import { modelAsOfNow } from '../models/index.js';
import { absolutePath } from '../system/index.js';

/** Paths are those of the call: an application may change its working directory while files are read. */

const PATHS = ['path', 'output', 'dev', 'test'] as const;
type Paths = { readonly [Name in (typeof PATHS)[number] | 'base']?: unknown };

/** The same options, with absolute paths. Values that are not paths, such as rows, stay as they are. */
export function withAbsolutePaths<Options extends Paths>(options: Options): Options {
  const copy = { ...options };
  for (const name of PATHS) if (name in copy) Reflect.set(copy, name, asOfNow(copy[name]));
  if (typeof copy.base === 'string') Reflect.set(copy, 'base', modelAsOfNow(copy.base));
  return copy;
}

/** @param path of a file, or rows */
export function asOfNow<Given>(path: Given): Given | string {
  const isPath = typeof path === 'string' && path !== '' && (!URL.canParse(path) || /^file:/i.test(path));
  return isPath ? absolutePath(path) : path;
}
