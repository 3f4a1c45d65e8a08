/** A function's value and gradient at a point. */
export interface Slope {
  readonly value: number;
  readonly gradient: Float64Array;
}

export interface MinimizeOptions {
  /** Most steps. */
  readonly steps: number;
  /** Ends when a step lowers the value by a smaller share of it. */
  readonly tolerance: number;
}

interface Step {
  readonly move: Float64Array;
  readonly bend: Float64Array;
  /** 1 / (move · bend). */
  readonly rho: number;
}

/** Steps that are remembered. */
const MEMORY = 10;
/** Share of the slope's promise that a step has to keep (Armijo), and how often a step is halved to keep it. */
const KEPT = 1e-4;
const HALVINGS = 20;

/**
 * Minimises a smooth convex function by L-BFGS (Nocedal & Wright 2006, algorithm 7.5) with steps that are halved until
 * they help.
 * @param at where to begin; becomes the minimum.
 * @returns the value there.
 */
export async function minimize(
  slopeAt: (point: Float64Array) => Promise<Slope>,
  at: Float64Array,
  { steps, tolerance }: MinimizeOptions,
): Promise<number> {
  let slope = await slopeAt(at);
  const memory: Step[] = [];
  for (let step = 0; step < steps; step += 1) {
    const direction = descent(slope.gradient, memory);
    const promise = dot(direction, slope.gradient);
    if (promise >= 0) break;
    const found = await walk(slopeAt, at, slope.value, direction, promise);
    if (found === undefined) break;
    const bend = found.slope.gradient.map((value, i) => value - (slope.gradient[i] ?? 0));
    const curvature = dot(found.move, bend);
    if (curvature > 0) memory.push({ move: found.move, bend, rho: 1 / curvature });
    if (memory.length > MEMORY) memory.shift();
    at.set(at.map((value, i) => value + (found.move[i] ?? 0)));
    const gained = slope.value - found.slope.value;
    slope = found.slope;
    if (gained < tolerance * Math.abs(slope.value)) break;
  }
  return slope.value;
}

/** The two loops of L-BFGS: −H·gradient, H being the inverse of the curvature that the last steps have shown. */
function descent(gradient: Float64Array, memory: readonly Step[]): Float64Array {
  const direction = gradient.map((value) => -value);
  const alphas: number[] = [];
  for (const { move, bend, rho } of [...memory].reverse()) {
    const alpha = rho * dot(move, direction);
    alphas.push(alpha);
    addScaled(direction, bend, -alpha);
  }
  const last = memory.at(-1);
  const scale =
    last === undefined
      ? 1 / Math.max(1, Math.sqrt(dot(gradient, gradient)))
      : dot(last.move, last.bend) / dot(last.bend, last.bend);
  for (let i = 0; i < direction.length; i += 1) direction[i] = (direction[i] ?? 0) * scale;
  for (const { move, bend, rho } of memory) {
    addScaled(direction, move, (alphas.pop() ?? 0) - rho * dot(bend, direction));
  }
  return direction;
}

async function walk(
  slopeAt: (point: Float64Array) => Promise<Slope>,
  at: Float64Array,
  value: number,
  direction: Float64Array,
  promise: number,
): Promise<{ slope: Slope; move: Float64Array } | undefined> {
  let length = 1;
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const move = direction.map((each) => each * length);
    const slope = await slopeAt(at.map((each, i) => each + (move[i] ?? 0)));
    if (slope.value <= value + KEPT * length * promise) return { slope, move };
    length /= 2;
  }
  return undefined;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

function addScaled(a: Float64Array, b: Float64Array, factor: number): void {
  for (let i = 0; i < a.length; i += 1) a[i] = (a[i] ?? 0) + factor * (b[i] ?? 0);
}
