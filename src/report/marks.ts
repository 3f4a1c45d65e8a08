/** The elements that a chart is drawn of. Lengths are in the drawing's units, y grows downwards. */
import { colours } from './chart.js';
import { type Html, html } from './html.js';

export type Point = readonly [x: number, y: number];

/** One line of text. */
export interface DrawnText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  /** Which part of the text is at x. Default `middle`. */
  readonly anchor?: 'start' | 'middle' | 'end';
  /** Default: the page's muted colour. */
  readonly colour?: string;
  /** Default: that of the drawing, 12. */
  readonly fontSize?: number;
  /** Whether it runs upwards, turned about its place. Default false. */
  readonly upwards?: boolean;
}

/** Vertically its middle is at y. */
export function drawnText({ text, anchor = 'middle', ...look }: DrawnText): Html {
  const { colour = colours.muted, fontSize = 12, upwards = false } = look;
  const [x, y] = [rounded(look.x), rounded(look.y)];
  const turn = upwards ? html` transform="rotate(-90 ${x} ${y})"` : undefined;
  return html`<text x="${x}" y="${y}"${turn} text-anchor="${anchor}" dominant-baseline="central" fill="${colour}" font-size="${fontSize}">${text}</text>`;
}

/** How a stroke looks. */
export interface Stroke {
  readonly colour: string;
  /** Default 1. */
  readonly width?: number;
  /** Default false. */
  readonly isDashed?: boolean;
}

/** @param path as the attribute `d` of SVG takes it. */
export function drawnPath(path: string, { colour, width = 1, isDashed = false }: Stroke): Html {
  const dashes = isDashed ? html` stroke-dasharray="4 4"` : undefined;
  return html`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/>`;
}

export function drawnLine([x1, y1]: Point, [x2, y2]: Point, stroke: Stroke): Html {
  return drawnPath(`M${rounded(x1)} ${rounded(y1)}L${rounded(x2)} ${rounded(y2)}`, stroke);
}

export function dot([x, y]: Point, radius: number, colour: string): Html {
  return html`<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}" fill="${colour}"/>`;
}

/** A hundredth of a unit can't be seen. */
export const rounded = (length: number): number => Math.round(100 * length) / 100;
