import { resolve } from 'node:path';

/** Paths are those of the call: an application may change its working directory while files are read. */

const PATHS = ['path', 'output', 'dev', 'test'] as const;
type Paths = { readonly [Name in (typeof PATHS)[number]]?: unknown };

/** The same options, with absolute paths. What is no path, such as rows, stays as it is. */
export function withAbsolutePaths<Options extends Paths>(options: Options): Options {
  const copy = { ...options };
  for (const name of PATHS) if (name in copy) Reflect.set(copy, name, absolutePath(copy[name]));
  return copy;
}

/** @param path of a file, or rows */
export function absolutePath<Given>(path: Given): Given | string {
  return typeof path === 'string' && path !== '' && !URL.canParse(path) ? resolve(path) : path;
}
