/** The answers in what a connection was sent. */
export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

const HEAD_END = '\r\n\r\n';

/** Those that are whole; the connection may have ended within the last one. @throws where something is no answer */
export function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = Buffer.from(text, 'latin1');
  while (rest.length > 0) {
    const end = rest.indexOf(HEAD_END);
    if (end === -1) break;
    const head = rest.subarray(0, end).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`this is no answer: ${head.slice(0, 200)}`);
    rest = rest.subarray(end + HEAD_END.length);
    if (status === 100) continue;
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error(`an answer without a length: ${head}`);
    if (rest.length < length) break;
    answers.push({ status, body: rest.subarray(0, length).toString('utf8') });
    rest = rest.subarray(length);
  }
  return answers;
}
