import ipaddr from 'ipaddr.js';

/** Of the eight parts of an IPv6 address, those that name a network; who has one has every address in it. */
const NETWORK_PARTS = 4;

/** What wrong keys are counted by: an IPv4 address, or the network of an IPv6 one. Undefined for what is no address. */
export function clientNetwork(address: string | undefined): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return parsed.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':');
}

/**
 * Who sent a request that came through a proxy: what the proxy itself added to x-forwarded-for, which is its last
 * address; any before it may be the client's invention. Undefined where that is no address.
 */
export function forwardedAddress(header: string | null): string | undefined {
  const last = header?.split(',').at(-1)?.trim() ?? '';
  return ipaddr.isValid(last) ? last : undefined;
}
