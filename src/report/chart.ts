import { line } from 'd3-shape';
import { type Html, html } from './html.js';

/** Charts in SVG: lines, texts, dots and axes. Lengths are in the drawing's units; y grows downwards. */

/** A drawing with its description. */
export interface Chart {
  /** In the drawing's units; a narrow page scales it down. */
  readonly width: number;
  readonly height: number;
  /** SVG elements. */
  readonly drawing: readonly Html[];
  /** A description for readers who can't see it. */
  readonly alternative: string;
  readonly caption: string;
}

/** Colours of the page's stylesheet, so that drawings follow its light or dark mode. */
export const colours = {
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  accent: 'var(--accent)',
  second: 'var(--second)',
} as const;

export function figure({ width, height, drawing, alternative, caption }: Chart): Html {
  return html`<figure style="max-width: ${width}px">
<div role="img" aria-label="${alternative}"><svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
${drawing}
</svg></div>
<figcaption>${caption}</figcaption>
</figure>`;
}

export type Point = readonly [x: number, y: number];

/** One line of text. */
interface DrawnText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** The part of the text that is at x. Default `middle`. */
  readonly anchor?: 'start' | 'middle' | 'end';
  /** Default: the page's muted colour. */
  readonly colour?: string;
  /** Default 12. */
  readonly fontSize?: number;
  /** Whether the text is rotated to run upwards. Default false. */
  readonly upwards?: boolean;
}

/** Draws a text whose vertical middle is at y. */
export function drawnText({ text, anchor = 'middle', ...look }: DrawnText): Html {
  const { colour = colours.muted, fontSize = 12, upwards = false } = look;
  const [x, y] = [rounded(look.x), rounded(look.y)];
  const turn = upwards ? html` transform="rotate(-90 ${x} ${y})"` : undefined;
  return html`<text x="${x}" y="${y}"${turn} text-anchor="${anchor}" dominant-baseline="central" fill="${colour}" font-size="${fontSize}">${text}</text>`;
}

interface Stroke {
  readonly colour: string;
  /** Default 1. */
  readonly width?: number;
  /** Default false. */
  readonly isDashed?: boolean;
}

/** @param path the SVG attribute `d`. */
function drawnPath(path: string, { colour, width = 1, isDashed = false }: Stroke): Html {
  const dashes = isDashed ? html` stroke-dasharray="4 4"` : undefined;
  return html`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/>`;
}

export function drawnLine([x1, y1]: Point, [x2, y2]: Point, stroke: Stroke): Html {
  return drawnPath(`M${rounded(x1)} ${rounded(y1)}L${rounded(x2)} ${rounded(y2)}`, stroke);
}

export function dot([x, y]: Point, radius: number, colour: string): Html {
  return html`<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}" fill="${colour}"/>`;
}

/** Two decimals; smaller differences are invisible. */
export const rounded = (length: number): number => Math.round(100 * length) / 100;

const straight = line<Point>(
  ([x]) => x,
  ([, y]) => y,
).digits(2);

/** Straight lines from point to point. */
export function curve(points: readonly Point[], colour: string): Html {
  return drawnPath(straight(points) ?? '', { colour, width: 2 });
}

/** The area of a plot in its drawing. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Tick {
  /** Its position along the axis, in the drawing's units. */
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

/** The axis to the left of the area, with a line across the area at each tick. */
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
