/**
 * Draws docs/pictures/session.json as a terminal: session-light.svg and session-dark.svg. Run by itself, it draws the
 * record that is there; record.mjs makes a new one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COLUMNS = 96;
/** In the picture's units; a text is stretched to its columns, so that any font keeps them. */
const [CHARACTER, LINE, MARGIN] = [8.4, 20, 18];
/** Seconds from one command to the next, where a viewer shows movement. */
const PAUSE = 1.6;

const LOOKS = {
  light: { ground: '#ffffff', edge: '#d0d7de', text: '#424a53', command: '#1f2328', prompt: '#1a7f37' },
  dark: { ground: '#0d1117', edge: '#3d444d', text: '#b1bac4', command: '#f0f6fc', prompt: '#3fb950' },
};

/** The session as lines of at most COLUMNS characters, each with the command that it belongs to. */
function screenOf(session) {
  return session.flatMap(({ command, lines }, at) => [
    ...(at === 0 ? [] : [{ text: '', at }]),
    { text: `$ ${command}`, at, isCommand: true },
    ...lines
      .map(untabbed)
      .flatMap(folded)
      .map((text) => ({ text, at })),
  ]);
}

/** Tabs as a terminal shows them: up to the next multiple of eight columns. */
function untabbed(line) {
  return line.split('\t').reduce((text, part) => text.padEnd(8 * (Math.floor(text.length / 8) + 1)) + part);
}

/** Breaks a line where a terminal would. */
function folded(line) {
  return line.length <= COLUMNS ? [line] : [line.slice(0, COLUMNS), ...folded(line.slice(COLUMNS))];
}

/** @param name of one of LOOKS @returns an SVG */
export function drawSession(session, name) {
  const look = LOOKS[name];
  const screen = screenOf(session);
  const width = Math.ceil(2 * MARGIN + COLUMNS * CHARACTER);
  const height = 2 * MARGIN + screen.length * LINE;
  const rows = screen.map((line, row) => drawnLine(line, MARGIN + (row + 0.7) * LINE));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">A terminal: ${session.map(({ command }) => escaped(command)).join('; ')}</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: ${look.text}; white-space: pre; }
.command { fill: ${look.command}; font-weight: 600; }
.prompt { fill: ${look.prompt}; }
@media (prefers-reduced-motion: no-preference) {
  text { animation: appear 0.3s both; }
${session.map((_, at) => `  .at${at} { animation-delay: ${(at * PAUSE).toFixed(1)}s; }\n  .at${at}.printed { animation-delay: ${(at * PAUSE + 0.7).toFixed(1)}s; }`).join('\n')}
}
@keyframes appear { from { opacity: 0; } }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${look.ground}" stroke="${look.edge}"/>
${rows.filter((row) => row !== '').join('\n')}
</svg>
`;
}

function drawnLine({ text, at, isCommand }, y) {
  const shown = text.trimEnd();
  if (shown === '') return '';
  const place = `x="${MARGIN}" y="${y}" textLength="${(shown.length * CHARACTER).toFixed(1)}"`;
  if (!isCommand) return `<text class="at${at} printed" ${place} xml:space="preserve">${escaped(shown)}</text>`;
  const words = `<tspan class="prompt">$</tspan><tspan class="command">${escaped(shown.slice(1))}</tspan>`;
  return `<text class="at${at}" ${place} xml:space="preserve">${words}</text>`;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** @param folder with session.json */
export function writePictures(folder) {
  const session = JSON.parse(readFileSync(join(folder, 'session.json'), 'utf8'));
  for (const name of Object.keys(LOOKS)) writeFileSync(join(folder, `session-${name}.svg`), drawSession(session, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writePictures(join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'docs', 'pictures'));
