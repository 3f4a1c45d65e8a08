import { scaleLinear, scalePoint } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { HistoryLine, Measured } from './lines.js';

/** The history as an SVG: one small plot for each measure, over the measured commits. */

const [WIDTH, HEIGHT, GAP] = [560, 110, 34];
const MARGIN = { left: 60, right: 16 };

interface Place extends Measured {
  readonly commit: string;
}

/** @param lines of one machine, the earliest first. */
export function drawHistory(lines: readonly HistoryLine[]): string {
  const names = [...new Set(lines.flatMap(({ measured }) => Object.keys(measured)))];
  const height = names.length * (HEIGHT + GAP) + GAP;
  const plots = names.map((name, at) => {
    const places = lines.flatMap(({ commit, measured }) => {
      const found = measured[name];
      return found ? [{ commit, ...found }] : [];
    });
    return `<g transform="translate(0 ${at * (HEIGHT + GAP) + GAP})">${plotOf(name, places)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">Processor time of each kind of work, in units of its yardstick, by commit; lower is better</title>
<style>
text { font: 11px system-ui, sans-serif; fill: #57606a; }
.name { font-weight: 600; fill: #1f2328; }
.median { fill: none; stroke: #0969da; stroke-width: 1.5; }
.spread { fill: #0969da; opacity: 0.18; }
.dot { fill: #0969da; }
.axis { stroke: #d0d7de; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .name { fill: #f0f6fc; }
  .median { stroke: #4493f8; }
  .spread, .dot { fill: #4493f8; }
  .axis { stroke: #3d444d; }
}
</style>
${plots.join('\n')}
</svg>
`;
}

function plotOf(name: string, places: readonly Place[]): string {
  const x = scalePoint()
    .domain(places.map(({ commit }) => commit))
    .range([MARGIN.left, WIDTH - MARGIN.right])
    .padding(0.5);
  const top = Math.max(...places.map(({ high }) => high)) * 1.1;
  const y = scaleLinear().domain([0, top]).nice(3).range([HEIGHT, 0]);
  const xOf = ({ commit }: Place) => x(commit) ?? MARGIN.left;
  const spread = area<Place>(
    xOf,
    ({ low }) => y(low),
    ({ high }) => y(high),
  )([...places]);
  const medians = line<Place>(xOf, ({ ratio }) => y(ratio))([...places]);
  const ticks = y.ticks(3).map((tick) => {
    const at = y(tick);
    return `<path class="axis" d="M${MARGIN.left} ${at}H${WIDTH - MARGIN.right}"/><text x="${MARGIN.left - 6}" y="${at + 4}" text-anchor="end">${tick}</text>`;
  });
  const dots = places.map(
    (place) =>
      `<circle class="dot" cx="${xOf(place)}" cy="${y(place.ratio)}" r="3"><title>${place.commit}: ${place.ratio.toFixed(2)}</title></circle>`,
  );
  const [first, last] = [places[0], places.at(-1)];
  const ends = first && last ? [first, ...(last === first ? [] : [last])] : [];
  const commits = ends.map(
    (place) => `<text x="${xOf(place)}" y="${HEIGHT + 14}" text-anchor="middle">${place.commit.slice(0, 7)}</text>`,
  );
  return `<text class="name" x="${MARGIN.left}" y="-8">${name}</text>${ticks.join('')}<path class="spread" d="${spread ?? ''}"/><path class="median" d="${medians ?? ''}"/>${dots.join('')}${commits.join('')}`;
}
