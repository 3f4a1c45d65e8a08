import * as z from 'zod';

/**
 * A schema of something that the application may have made itself. Only its methods are looked at, and it is passed on
 * as it is.
 * @param methods that are needed of it. @param hint what to pass.
 */
export function implementation<Value>(methods: readonly (keyof Value & string)[], hint: string) {
  const has = (input: object, method: string) => typeof Reflect.get(input, method) === 'function';
  return z.custom<Value>(
    (input) => typeof input === 'object' && input !== null && methods.every((method) => has(input, method)),
    hint,
  );
}
