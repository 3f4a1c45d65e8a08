import type { ParameterSpec } from './parameter.js';

/** Fills a new parameter as its specification says. @param normal draws from N(0, 1). */
export function initialize({ start }: ParameterSpec, values: Float32Array, normal: () => number): void {
  if ('value' in start) values.fill(start.value);
  else for (let index = 0; index < values.length; index += 1) values[index] = normal() * start.deviation;
}
