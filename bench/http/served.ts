import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AskLibrary, Command, Load, Reply, Serve } from './messages.js';

type ReplyOf<Type extends Reply['type']> = Extract<Reply, { readonly type: Type }>;

/** A service in a process of its own. */
export class Served {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    readonly apiKey: string,
    readonly bareUrl: string,
  ) {}

  static async start(what: Omit<Serve, 'type'>): Promise<Served> {
    const child = fork(fileURLToPath(new URL('service.ts', import.meta.url)));
    const { url, path, apiKey, bareUrl } = await told(child, { type: 'serve', ...what }, 'serving');
    return new Served(child, url + path, apiKey, bareUrl);
  }

  /** Calls the library there, without HTTP. */
  askLibrary(what: Omit<AskLibrary, 'type'>): Promise<Load> {
    return told(this.child, { type: 'ask', ...what }, 'answered');
  }

  async residentMebibytes(): Promise<number> {
    return (await told(this.child, { type: 'memory' }, 'memory')).residentMebibytes;
  }

  async close(): Promise<void> {
    const left = once(this.child, 'exit');
    this.child.send({ type: 'close' } satisfies Command);
    await left;
  }
}

/** The next reply of this type. Rejects if the process ends instead. */
function told<Type extends Reply['type']>(child: ChildProcess, command: Command, type: Type): Promise<ReplyOf<Type>> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the service ended'));
    const note = (reply: Reply) => {
      if (!isOf(reply, type)) return;
      child.off('message', note).off('exit', ended);
      resolve(reply);
    };
    child.on('message', note).once('exit', ended);
    child.send(command);
  });
}

function isOf<Type extends Reply['type']>(reply: Reply, type: Type): reply is ReplyOf<Type> {
  return reply.type === type;
}
