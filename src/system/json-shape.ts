import { ModelFolderError } from '../contract/index.js';

/** Checks of JSON that a first answer waits for: loading zod would take longer than everything else together. */

/** Errors show at most this many characters of a field's name: in an untrusted file it can be of any length. */
const MAX_FIELD_CHARACTERS = 200;

/** Tells whether a value is a T; if it isn't, `problem` says why. */
export type JsonShape<T> = (value: unknown, problem: JsonProblem) => value is T;

/** The first thing that is wrong with a value. */
export interface JsonProblem {
  /** Where it is, from the outside in. */
  readonly path: string[];
  /** What belongs there: `a string`. */
  expected: string;
}

/** What values of a shape are. */
export type Shaped<Shape> = Shape extends JsonShape<infer T> ? T : never;

/** @param within the field of `file` that the value is. @throws ModelFolderError with the first misfit. */
export function requireShape<T>(shape: JsonShape<T>, value: unknown, file: string, within?: string): T {
  const problem: JsonProblem = { path: [], expected: '' };
  if (shape(value, problem)) return value;
  const path = within === undefined ? problem.path : [within, ...problem.path];
  const field = path.length === 0 ? 'the file' : path.join('.').slice(0, MAX_FIELD_CHARACTERS);
  throw new ModelFolderError(file, `${field}: expected ${problem.expected}`);
}

/** @returns undefined if it doesn't fit. */
export function shaped<T>(shape: JsonShape<T>, value: unknown): T | undefined {
  return shape(value, { path: [], expected: '' }) ? value : undefined;
}

export const text: JsonShape<string> = (value, problem): value is string =>
  typeof value === 'string' || isNot('a string', problem);

/** With at most this many UTF-16 code units. */
// @__NO_SIDE_EFFECTS__
export function shortText(most: number): JsonShape<string> {
  return (value, problem): value is string =>
    (typeof value === 'string' && value.length <= most) || isNot(`a string of at most ${most} characters`, problem);
}

/** With at least one character. */
export const filledText: JsonShape<string> = (value, problem): value is string =>
  (typeof value === 'string' && value !== '') || isNot('a string that is not empty', problem);

export const flag: JsonShape<boolean> = (value, problem): value is boolean =>
  typeof value === 'boolean' || isNot('true or false', problem);

/** Finite: JSON can also hold 1e999, which is read as an infinity. */
// @__NO_SIDE_EFFECTS__
export function number(least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): JsonShape<number> {
  const expected = `a number${orMore(least)}${orLess(most)}`;
  return (value, problem): value is number =>
    (typeof value === 'number' && Number.isFinite(value) && value >= least && value <= most) ||
    isNot(expected, problem);
}

/** Whole, and exact in a float64. */
// @__NO_SIDE_EFFECTS__
export function whole(least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): JsonShape<number> {
  const expected = `a whole number${orMore(least)}${orLess(most)}`;
  return (value, problem): value is number =>
    (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) ||
    isNot(expected, problem);
}

const orMore = (least: number): string => (Number.isFinite(least) ? `, ${least} or more` : '');
const orLess = (most: number): string => (Number.isFinite(most) ? `, ${most} or less` : '');

// @__NO_SIDE_EFFECTS__
export function oneOf<const Option extends string | number>(...options: readonly Option[]): JsonShape<Option> {
  const expected = options.map((option) => JSON.stringify(option)).join(' or ');
  return (value, problem): value is Option => options.some((option) => option === value) || isNot(expected, problem);
}

// @__NO_SIDE_EFFECTS__
export function nullable<T>(shape: JsonShape<T>): JsonShape<T | null> {
  return (value, problem): value is T | null => value === null || shape(value, problem);
}

// @__NO_SIDE_EFFECTS__
export function either<First, Second>(first: JsonShape<First>, second: JsonShape<Second>): JsonShape<First | Second> {
  return (value, problem): value is First | Second => {
    if (first(value, problem)) return true;
    problem.path.length = 0;
    return second(value, problem);
  };
}

// @__NO_SIDE_EFFECTS__
export function listOf<T>(shape: JsonShape<T>, most = Number.POSITIVE_INFINITY): JsonShape<T[]> {
  return (value, problem): value is T[] => {
    if (!Array.isArray(value)) return isNot('an array', problem);
    if (value.length > most) return isNot(`an array of at most ${most} entries`, problem);
    return value.every((entry, index) => shape(entry, problem) || isAt(String(index), problem));
  };
}

// @__NO_SIDE_EFFECTS__
export function pairOf<First, Second>(first: JsonShape<First>, second: JsonShape<Second>): JsonShape<[First, Second]> {
  return (value, problem): value is [First, Second] => {
    if (!Array.isArray(value) || value.length !== 2) return isNot('an array of two', problem);
    if (!first(value[0], problem)) return isAt('0', problem);
    return second(value[1], problem) || isAt('1', problem);
  };
}

/** An object whose fields are checked where they are read. */
export const object: JsonShape<Readonly<Record<string, unknown>>> = (
  value,
  problem,
): value is Readonly<Record<string, unknown>> => isObject(value) || isNot('an object', problem);

// @__NO_SIDE_EFFECTS__
export function recordOf<T>(shape: JsonShape<T>): JsonShape<Record<string, T>> {
  return (value, problem): value is Record<string, T> => {
    if (!isObject(value)) return isNot('an object', problem);
    return Object.entries(value).every(([name, entry]) => shape(entry, problem) || isAt(name, problem));
  };
}

type Shapes = Readonly<Record<string, JsonShape<unknown>>>;
type Fields<Required, Optional> = { [Name in keyof Required]: Shaped<Required[Name]> } & {
  [Name in keyof Optional]?: Shaped<Optional[Name]>;
};

/** An object with these fields. @param others what to do with further ones. */
// @__NO_SIDE_EFFECTS__
export function fields<Required extends Shapes, Optional extends Shapes>(
  required: Required,
  optional: Optional,
  others: 'allowed' | 'refused' = 'allowed',
): JsonShape<Fields<Required, Optional>> {
  const known: Shapes = { ...required, ...optional };
  return (value, problem): value is Fields<Required, Optional> => {
    if (!isObject(value)) return isNot('an object', problem);
    for (const [name, shape] of Object.entries(known)) {
      const isAbsent = value[name] === undefined && Object.hasOwn(optional, name);
      if (!isAbsent && !shape(value[name], problem)) return isAt(name, problem);
    }
    const stranger = others === 'refused' && Object.keys(value).find((name) => !Object.hasOwn(known, name));
    if (typeof stranger !== 'string') return true;
    isNot('no field of this name', problem);
    return isAt(stranger, problem);
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns false, always. */
function isNot(expected: string, problem: JsonProblem): false {
  problem.expected = expected;
  return false;
}

/** @returns false, always. */
function isAt(name: string, problem: JsonProblem): false {
  problem.path.unshift(name);
  return false;
}
