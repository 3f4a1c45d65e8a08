import * as z from 'zod';

/**
 * Schema of an object that the application may have made itself. Only its methods are checked, and it is
 * passed on unchanged.
 * @param methods the methods that it must have.
 * @param hint what to pass.
 */
export function implementation<Value>(methods: readonly (keyof Value & string)[], hint: string) {
  const has = (input: object, method: string) => typeof Reflect.get(input, method) === 'function';
  return z.custom<Value>(
    (input) => typeof input === 'object' && input !== null && methods.every((method) => has(input, method)),
    hint,
  );
}
