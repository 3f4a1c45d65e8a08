import { line } from 'd3-shape';
import type { Html } from './html.js';
import { drawnPath, type Point } from './marks.js';

const straight = line<Point>(
  ([x]) => x,
  ([, y]) => y,
).digits(2);

/** Straight lines from point to point. */
export function curve(points: readonly Point[], colour: string): Html {
  return drawnPath(straight(points) ?? '', { colour, width: 2 });
}
