import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.doUnmock('pg-boss');
  vi.resetModules();
});

it('says what to install where pg-boss is missing', async () => {
  vi.resetModules();
  vi.doMock('pg-boss', () => {
    throw new Error("Cannot find package 'pg-boss'");
  });
  const { postgresQueue } = await import('../../src/postgres/index.js');
  const queue = postgresQueue('postgres://127.0.0.1:1/none');
  await expect(queue.add({ app_id: 'a', id: 'b' })).rejects.toThrow('npm install pg-boss@10');
  await queue.close();
});
