import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ROOMS } from '../scripts/rooms.mjs';

/** docs/house.md against src/ and the list of rooms that `npm run lint` checks. */

const root = fileURLToPath(new URL('..', import.meta.url));
const house = readFileSync(join(root, 'docs', 'house.md'), 'utf8');
const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe('docs/house.md', () => {
  it('draws the rooms in the order of scripts/rooms.mjs', () => {
    const [, drawing = ''] = house.split('```\n');
    const drawn = drawing.trim().split('\n');
    expect(drawn.map((line) => line.split(/ +/))).toEqual(ROOMS);
  });

  it('states the job of every room', () => {
    const described = [...house.matchAll(/^\| `([a-z-]+)\/`/gm)].map(([, room]) => room);
    expect(described.sort()).toEqual(folders.sort());
  });

  it('names files that exist', () => {
    const named = [...house.matchAll(/^\| `([a-z-]+)\/`(.*)$/gm)].flatMap(([, room = '', row = '']) =>
      [...row.matchAll(/`([a-z-]+\.ts)`/g)].map(([, file = '']) => join(room, file)),
    );
    expect(named.length).toBeGreaterThan(10);
    for (const file of named) expect(readdirSync(join(root, 'src', file, '..'))).toContain(file.split('/')[1]);
  });
});
