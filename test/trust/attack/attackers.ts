import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Clients of one account that hold open what they can, or leave in the middle. */

export interface Target {
  readonly url: string;
  readonly apiKey: string;
}

/** The bytes of a request. @param announced of the body, if more is announced than sent. */
export function requestBytes(
  { apiKey }: Pick<Target, 'apiKey'>,
  [method, path]: readonly [method: string, path: string],
  { type = 'application/json', body = '', announced }: { type?: string; body?: string; announced?: number } = {},
): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: attack.test', `x-api-key: ${apiKey}`];
  const length = announced ?? body.length;
  if (length > 0) lines.push(`content-type: ${type}`, `content-length: ${length}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function opened(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined); // a service that hangs up is expected
  return socket;
}

const REOPENS_AFTER_MS = 500;

/**
 * Connections that send the same bytes and then stay, reading nothing unless `reads`. One that the service ends is opened again.
 * @returns what ends them
 */
export async function holdOpen({ url }: Target, bytes: string, count: number, reads = true): Promise<() => void> {
  const sockets = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let isOver = false;
  const open = () => {
    const socket = opened(url);
    if (reads) socket.resume();
    else socket.pause();
    socket.write(bytes);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (!isOver) timers.add(setTimeout(open, REOPENS_AFTER_MS));
    });
  };
  for (let at = 0; at < count; at += 1) {
    open();
    if (at % 100 === 99) await sleep(50);
  }
  return () => {
    isOver = true;
    for (const timer of timers) clearTimeout(timer);
    for (const socket of sockets) socket.destroy();
  };
}

/** Sends the bytes `count` times, each in a connection that ends with the first bytes of the answer, or soon. */
export async function breakOff({ url }: Target, bytes: string, count: number, atOnce = 10): Promise<void> {
  let left = count;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const socket = opened(url);
      const gone = once(socket, 'close').catch(() => undefined);
      socket.setTimeout(30, () => socket.destroy());
      socket.once('data', () => socket.destroy());
      socket.write(bytes);
      await gone;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
}
