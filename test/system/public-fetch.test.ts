import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchDataset } from '../../src/datasets/index.js';
import { type Fetch, publicFetch, requirePublicHost } from '../../src/system/index.js';
import { isPublicAddress } from '../../src/system/public-fetch.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('public addresses', () => {
  it.each(['8.8.8.8', '1.1.1.1', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '2001:4860:4860::8888'])(
    'are such as %s',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12::1']],
    ['link-local, where clouds keep credentials', ['169.254.169.254', 'fe80::1']],
    ['of carriers', ['100.64.0.1']],
    ['multicast and broadcast', ['224.0.0.1', '255.255.255.255', 'ff02::1']],
    ['for documentation and tests', ['192.0.2.1', '198.18.0.1', '203.0.113.9', '2001:db8::1']],
    ['IPv4 written as IPv6', ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::a00:1', '2002:7f00:1::']],
    ['not allocated', ['4000::1', '240.0.0.1']],
    ['no addresses', ['', 'localhost', '1.2.3']],
  ])('exclude those that are %s', (_, addresses) => {
    for (const address of addresses) expect(isPublicAddress(address), address).toBe(false);
  });
});

describe('an untrusted dataset_url', () => {
  let url: string;
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    if (request.url === '/redirect') response.writeHead(302, { location: url }).end();
    else response.end('secret');
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    url = `http://127.0.0.1:${address.port}/dataset.zip`;
  });
  afterAll(() => {
    server.close();
  });

  async function refusalOf(dataset_url: string, fetch: Fetch) {
    const directory = temporaryDirectory();
    const error = await failureOf('download', () => fetchDataset(dataset_url, { directory, fetch }));
    return error.message;
  }

  it('does not reach this machine by its address, nor by a name', async () => {
    const port = new URL(url).port;
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost']) {
      expect(await refusalOf(`http://${host}:${port}/dataset.zip`, publicFetch)).toMatch(/private network/);
    }
    expect(asked).toBe(0);
  });

  it('does not tell what a name resolves to', async () => {
    const port = new URL(url).port;
    expect(await refusalOf(`http://localhost:${port}/dataset.zip`, publicFetch)).not.toMatch(/127\.|::1/);
    const refused = requirePublicHost('http://localhost/x.zip');
    await expect(refused).rejects.toThrow(/^dataset_url: localhost is an address of a private network/);
    await expect(refused).rejects.not.toThrow(/127\.|::1/);
  });

  it('tells of an unknown failure its code, not the address in its message', async () => {
    const details = { code: 'EADDRNOTAVAIL', syscall: 'connect', address: '10.1.2.3' };
    const cause = Object.assign(new Error('connect EADDRNOTAVAIL 10.1.2.3:80'), details);
    const failing: Fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const message = await refusalOf('http://intern.example/x.zip', failing);
    expect(message).toContain('the download failed (EADDRNOTAVAIL)');
    expect(message).not.toContain('10.1.2.3');
  });

  it('does not reach it by a redirect', async () => {
    const outside: Fetch = (target, init) =>
      target.pathname === '/redirect' ? fetch(target, init) : publicFetch(target, init);
    expect(await refusalOf(new URL('/redirect', url).href, outside)).toMatch(/private network/);
    expect(asked).toBe(1);
  });

  it('is refused early if that is possible', async () => {
    await expect(requirePublicHost(url)).rejects.toMatchObject({
      code: 'validation',
      problems: [{ loc: ['dataset_url'], type: 'private_address', msg: expect.stringContaining('127.0.0.1') }],
    });
    await expect(requirePublicHost('http://localhost/x.zip')).rejects.toMatchObject({ code: 'validation' });
    await expect(requirePublicHost('https://8.8.8.8/x.zip')).resolves.toBeUndefined();
    await expect(requirePublicHost('https://no-such-host.invalid/x.zip')).resolves.toBeUndefined();
  });
});
