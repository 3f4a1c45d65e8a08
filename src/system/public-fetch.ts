import { type LookupAddress, lookup } from 'node:dns';
import { lookup as lookupAll } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ValidationError } from '../contract/index.js';
import { type Fetch, NetworkFailure } from './network.js';

/** What IANA has allocated as global unicast in IPv6 (RFC 4291, section 2.4); the rest is special or reserved. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** False for addresses of the own machine or network, or of none: loopback, link-local, private, … */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}

/** The IP address in a URL's host, without the brackets of IPv6; undefined if the host is a name. */
function literalAddress({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? undefined : host;
}

/** Why a host is refused. Never what its name resolves to: that would reveal the local network. */
function refusalOf(host: string, addresses: readonly string[]): string | undefined {
  if (addresses.every(isPublicAddress)) return undefined;
  return `${host} is an address of a private network; give a URL that is open to the public`;
}

/** Connects to the addresses that were checked, even if the name resolves to others the next time. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const [first] = addresses ?? [];
    if (error !== null || first === undefined) return callback(error, '');
    const refusal = refusalOf(
      hostname,
      addresses.map(({ address }) => address),
    );
    if (refusal !== undefined) return callback(new NetworkFailure(refusal), '');
    if (options.all === true) return callback(null, addresses);
    return callback(null, first.address, first.family);
  });
};

/** undici, loaded when first needed, since it takes half as long to load as everything else together. */
let client: ReturnType<typeof loadClient> | undefined;

async function loadClient() {
  const { Agent, fetch } = await import('undici');
  return { fetch, agent: new Agent({ connect: { lookup: publicLookup } }) };
}

/** A fetch for untrusted URLs: rejects if the host, or any address of its name, isn't public. */
export const publicFetch: Fetch = async (url, init) => {
  const address = literalAddress(url);
  const refusal = address === undefined ? undefined : refusalOf(address, [address]);
  if (refusal !== undefined) throw new NetworkFailure(refusal);
  client ??= loadClient();
  const { fetch, agent } = await client;
  return fetch(url, { ...init, dispatcher: agent });
};

/** What `requirePublicHost` does. @throws ValidationError */
export async function refusePrivateHost(dataset_url: string): Promise<void> {
  const url = new URL(dataset_url);
  if (url.hostname === '') return; // a file: URL
  const address = literalAddress(url);
  const addresses = address === undefined ? await addressesOf(url.hostname) : [address];
  const refusal = refusalOf(address ?? url.hostname, addresses);
  if (refusal === undefined) return;
  throw new ValidationError([{ loc: ['dataset_url'], msg: refusal, type: 'private_address' }]);
}

async function addressesOf(hostname: string): Promise<string[]> {
  try {
    return (await lookupAll(hostname, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}
