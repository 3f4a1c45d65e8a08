import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** A client that writes bytes as it likes, and reads when it likes. */

/** Connects to a server without reading anything from it. The connection ends with the test at the latest. */
export async function rawConnection(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined); // a server that hangs up is expected here
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.pause();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    /** Resolves when the connection is over. A socket that is not read notices it when it writes. */
    closed,
    write: (bytes: string) => void socket.write(bytes),
    /** Reads until the server has hung up, or there is as much as wanted. */
    async read(isEnough: (text: string) => boolean = () => false): Promise<string> {
      let text = '';
      try {
        for await (const piece of socket.iterator({ destroyOnReturn: false })) {
          text += piece.toString('latin1');
          if (isEnough(text)) break;
        }
      } catch {
        // reset by the server
      }
      return text;
    },
  };
}

/** The head of a GET, as many times as wanted. */
export function gets(path: string, count = 1): string {
  return `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`.repeat(count);
}
