/**
 * Shapes with symbolic dimensions. A dimension is a number, a symbol fixed only at run time (`batch`), or a
 * product (`tokens*batch`, `2*tokens`), so that one compiled graph serves every batch size and length.
 */
export type Dimension = number | string;
/** The dimensions of a tensor; [] is a single number. */
export type Shape = readonly Dimension[];

/** Thrown when an operation or a feed is given shapes that it can't take: a programming error. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

/** The factors of a product dimension: `tokens*batch` → [tokens, batch], `2*tokens` → [2, tokens]. */
export function symbolsOf(dimension: string): string[] {
  return dimension.split('*');
}

/** The number that a factor of a product is; undefined for a symbol. */
export function numeral(factor: string): number | undefined {
  return /^\d+$/.test(factor) ? Number(factor) : undefined;
}

/** Twice a dimension: 3 → 6, `tokens` → `2*tokens`. */
export function twice(dimension: Dimension): Dimension {
  return typeof dimension === 'number' ? 2 * dimension : `2*${dimension}`;
}

/** Merges several dimensions into one, as a reshape to fewer axes does. */
export function mergeDimensions(dimensions: Shape): Dimension {
  const symbols = dimensions.filter((dimension) => typeof dimension === 'string');
  const factor = dimensions.reduce<number>((product, d) => (typeof d === 'number' ? product * d : product), 1);
  if (symbols.length === 0) return factor;
  if (factor !== 1) throw new ShapeError(`can't merge [${dimensions.join(', ')}] into one dimension`);
  return symbols.join('*');
}

/** A key that is equal for two shapes exactly when they hold the same number of elements. */
function volumeKey(shape: Shape): string {
  let factor = 1;
  const symbols: string[] = [];
  for (const dimension of shape) {
    for (const each of typeof dimension === 'number' ? [`${dimension}`] : symbolsOf(dimension)) {
      const value = numeral(each);
      if (value === undefined) symbols.push(each);
      else factor *= value;
    }
  }
  return `${factor}·${symbols.sort().join('·')}`;
}

export function sameVolume(a: Shape, b: Shape): boolean {
  return volumeKey(a) === volumeKey(b);
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dimension, axis) => dimension === b[axis]);
}

/** The dimension at an axis; negative axes count from the end. */
export function dimensionAt(shape: Shape, axis: number): Dimension {
  const dimension = shape.at(axis);
  if (dimension === undefined) throw new ShapeError(`[${shape.join(', ')}] has no axis ${axis}`);
  return dimension;
}

/** The shape that two shapes broadcast to, by the rule that NumPy and ONNX share. */
export function broadcastShapes(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[axis - (rank - a.length)] ?? 1;
    const right = b[axis - (rank - b.length)] ?? 1;
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new ShapeError(`[${a.join(', ')}] and [${b.join(', ')}] do not broadcast`);
  });
}

/** The axes of `to` along which a tensor of shape `from` was repeated to become `to`. */
export function broadcastAxes(from: Shape, to: Shape): number[] {
  const offset = to.length - from.length;
  return to.flatMap((dimension, axis) =>
    axis < offset || (from[axis - offset] === 1 && dimension !== 1) ? [axis] : [],
  );
}

/** The shape with its symbols replaced by their values. */
export function resolveShape(shape: Shape, sizes: Readonly<Record<string, number>>): number[] {
  return shape.map((dimension) => {
    if (typeof dimension === 'number') return dimension;
    return symbolsOf(dimension).reduce((product, symbol) => {
      const size = numeral(symbol) ?? (Object.hasOwn(sizes, symbol) ? sizes[symbol] : undefined);
      if (size === undefined) throw new ShapeError(`no size is given for the dimension ${symbol}`);
      return product * size;
    }, 1);
  });
}

/** The number of elements of a shape without symbols. */
export function volume(dims: readonly number[]): number {
  return dims.reduce((product, dimension) => product * dimension, 1);
}
