/** The two axes of a plot, their ticks and the lines across it. */
import { colours } from './chart.js';
import type { Html } from './html.js';
import { drawnLine, drawnText } from './marks.js';

/** Where a plot's area lies in its drawing. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Tick {
  /** Its place along the axis, in the drawing's units. */
  readonly at: number;
  readonly text: string;
}

const LINE = { colour: colours.line };
const TICK_LENGTH = 5;

/** The axis below the area. */
export function bottomAxis(
  { left, right, bottom }: Area,
  ticks: readonly Tick[],
  name: string,
): readonly Html[] {
  return [
    drawnLine([left, bottom], [right, bottom], LINE),
    ...ticks.map(({ at }) => drawnLine([at, bottom], [at, bottom + TICK_LENGTH], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: at, y: bottom + 14 })),
    drawnText({ text: name, x: (left + right) / 2, y: bottom + 32 }),
  ];
}

/** The axis left of the area, with a line across it at each tick. */
export function leftAxis(
  { left, right, top, bottom }: Area,
  ticks: readonly Tick[],
  name?: string,
): readonly Html[] {
  const named = name === undefined ? [] : [{ text: name, x: left - 44, y: (top + bottom) / 2 }];
  return [
    ...ticks.map(({ at }) => drawnLine([left - TICK_LENGTH, at], [right, at], LINE)),
    ...ticks.map(({ at, text }) => drawnText({ text, x: left - 8, y: at, anchor: 'end' })),
    ...named.map((text) => drawnText({ ...text, upwards: true })),
  ];
}
