import { createServer, connect as open, type Server, type Socket } from 'node:net';

/** A TCP proxy on a free port of 127.0.0.1 whose network can be cut: then nothing passes, and nobody is told. */
export class CuttableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #waiting: (() => void)[] = [];
  #isCut = false;

  private constructor(readonly targetPort: number) {
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accept(socket));
  }

  static async listen(targetPort: number): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return address.port;
  }

  /** What is under way stays under way, for however long. New connections are taken and get no answer. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Lets through what was sent meanwhile, and all that follows. */
  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
    for (const begin of this.#waiting.splice(0)) begin();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    this.#track(client);
    const begin = () => {
      const target = open({ port: this.targetPort, host: '127.0.0.1' });
      this.#track(target);
      this.#join(client, target);
      this.#join(target, client);
    };
    if (this.#isCut) this.#waiting.push(begin);
    else begin();
  }

  /** Passes on what comes. An end passes too, unless the network is cut by then: then it waits as data does. */
  #join(from: Socket, to: Socket): void {
    from.on('data', (data) => to.write(data));
    from.on('end', () => to.end());
    from.on('close', () => to.destroy());
    if (!this.#isCut) from.resume();
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
