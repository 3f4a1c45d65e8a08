import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { alternativeOf, type RecordedCommand } from '../../scripts/picture/alternative.mjs';
import { drawSession } from '../../scripts/picture/draw.mjs';
import { shownCommands } from '../../scripts/picture/shown-commands.mjs';

/** README's picture: of README's commands, drawn from the record beside it, and said in words. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
const readme = read('README.md');
const session: RecordedCommand[] = JSON.parse(read('docs', 'pictures', 'session.json'));

describe("README's picture (npm run picture makes it)", () => {
  it('is of the commands that README shows', () => {
    expect(session.map(({ command }) => command)).toEqual(shownCommands(readme));
  });

  it.each(['light', 'dark'] as const)('is drawn from the record: %s', (name) => {
    expect(drawSession(session, name)).toBe(read('docs', 'pictures', `session-${name}.svg`));
  });

  it('is there for who does not see it, and for the dark', () => {
    expect(readme).toContain(`alt="${alternativeOf(session)}"`);
    const files = [...readme.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(files).toEqual(['docs/pictures/session-dark.svg', 'docs/pictures/session-light.svg']);
    for (const file of files) expect(read(file)).toMatch(/^<svg /);
  });

  it('draws tabs, long lines and signs as a terminal does', () => {
    const lines = ['a\tb', 'x'.repeat(97), '1 < 2 & 3'];
    const drawn = drawSession([{ command: 'cat', lines }], 'light');
    expect(drawn).toContain('>a       b</text>');
    expect(drawn).toContain(`>${'x'.repeat(96)}</text>`);
    expect(drawn).toContain('>1 &lt; 2 &amp; 3</text>');
  });
});
