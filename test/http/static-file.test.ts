import { expect, it, vi } from 'vitest';
import { staticFiles } from '../../src/http/create-handler.js';

const LARGE = 'é'.repeat(500_000);
const anApp = (read: () => Promise<string>) => staticFiles([{ path: '/file', type: 'text/plain', read }]);

it('reads a file once, however often it is asked for', async () => {
  const read = vi.fn(async () => LARGE);
  const app = anApp(read);
  const answers = await Promise.all(Array.from({ length: 20 }, async () => app.request('/file')));
  for (const answer of answers) {
    expect(answer.headers.get('content-length')).toBe('1000000');
    expect(await answer.text()).toBe(LARGE);
  }
  expect(read).toHaveBeenCalledOnce();
});

it('gives a large file in pieces, no faster than they are taken', async () => {
  const response = await anApp(async () => LARGE).request('/file');
  const pieces: number[] = [];
  for await (const piece of response.body ?? []) pieces.push(piece.byteLength);
  expect(Math.max(...pieces)).toBe(65_536);
  expect(pieces.reduce((sum, each) => sum + each)).toBe(1_000_000);
});

it('reads a file again where it could not be read', async () => {
  const read = vi.fn(async () => 'text').mockRejectedValueOnce(new Error('no such file'));
  const app = anApp(read);
  expect((await app.request('/file')).status).toBe(500);
  expect(await (await app.request('/file')).text()).toBe('text');
});

it('is not sent again to who has it', async () => {
  const app = anApp(async () => LARGE);
  const { headers } = await app.request('/file');
  const again = await app.request('/file', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
  expect(await again.text()).toBe('');
});
