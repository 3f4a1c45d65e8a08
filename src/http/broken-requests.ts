/** Answers to what never reaches the handler; they have a `detail` all the same. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** By Node's codes of errors. */
const brokenRequests: Readonly<Record<string, readonly [status: string, msg: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the head of the request is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
};

/**
 * Answers what is no HTTP, and hangs up.
 * @param answering the answer under way on the connection, if there is one: nothing may come between its pieces.
 */
export function answerBrokenRequest(
  { code = '' }: NodeJS.ErrnoException,
  socket: Duplex,
  answering: ServerResponse | undefined,
): void {
  if (code === 'ECONNRESET' || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, msg] = brokenRequests[code] ?? ['400 Bad Request', 'the request is no HTTP'];
  hangUp(socket, status, msg, 'bad_request');
}

/** There is no place for another connection. */
export function refuseConnection(socket: Duplex): void {
  const msg = 'too many connections are open; try again after the seconds that retry-after tells';
  hangUp(socket, '503 Service Unavailable', msg, 'overloaded', 'retry-after: 1\r\n');
  socket.once('finish', () => socket.destroy());
}

/** This is no proxy. Node has let go of the connection by then, so nothing else would end it. */
export function refuseTunnel(socket: Duplex): void {
  hangUp(socket, '405 Method Not Allowed', 'no path takes CONNECT', 'method');
  socket.once('finish', () => socket.destroy());
}

/** RFC 9110, 10.1.1: the only expectation is 100-continue. */
export async function refuseExpectation(_: IncomingMessage, response: ServerResponse): Promise<void> {
  const problem = {
    loc: ['header', 'expect'],
    msg: 'only 100-continue can be expected',
    type: 'expectation',
  };
  const body = JSON.stringify({ detail: [problem] });
  const headers = { 'content-type': 'application/json', connection: 'close' };
  response.writeHead(417, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** The answer to a request whose URL and host make no address, and to a defect in front of the handler. */
export function answerUnreadable(isRequests: boolean): Response {
  const problem = isRequests
    ? { loc: ['header', 'host'], msg: 'the header host and the path make no URL', type: 'bad_request' }
    : { loc: [], msg: 'the request could not be answered', type: 'server_error' };
  return Response.json({ detail: [problem] }, { status: isRequests ? 400 : 500 });
}

function hangUp(socket: Duplex, status: string, msg: string, type: string, headers = ''): void {
  const body = JSON.stringify({ detail: [{ loc: [], msg, type }] });
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.on('error', () => undefined); // nobody is left to read it
  socket.end(`HTTP/1.1 ${status}\r\n${headers}${head}\r\n\r\n${body}`);
}
