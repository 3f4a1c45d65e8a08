import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';

/**
 * A PostgreSQL server of the tests' own, from the binaries that the system has: its data in a temporary folder, on a
 * free port of 127.0.0.1, without fsync. It refuses to run as root and so runs as another user where the tests do.
 */

/** Where Debian puts PostgreSQL, one folder for each version. */
const DEBIAN = '/usr/lib/postgresql';
/** The server asks for none; tests check that no error contains it. */
export const PASSWORD = 'secret-of-the-tests';
const START_TIMEOUT_MS = 60_000;

/** The folder of initdb and postgres; undefined where PostgreSQL isn't installed. */
export const serverBinaries = [...debianFolders(), ...(process.env.PATH ?? '').split(':')].find(
  (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
);

/**
 * Tests that need a PostgreSQL server. They share one, which is started before them and removed after them; without
 * PostgreSQL they are skipped, and the name says why.
 */
export function describeWithPostgres(name: string, tests: (server: PrivateServer) => void): void {
  if (serverBinaries === undefined) {
    describe.skip(`${name} (skipped: PostgreSQL is not installed; on Debian, apt-get install postgresql)`, () => {
      tests(new PrivateServer('', 0));
    });
    return;
  }
  describe(name, () => {
    const server = new PrivateServer(serverBinaries, START_TIMEOUT_MS);
    beforeAll(() => server.create());
    afterAll(() => server.remove());
    tests(server);
  });
}

/** One server with its data. */
export class PrivateServer {
  readonly #binaries: string;
  readonly #timeoutMs: number;
  readonly #settings: Readonly<Record<string, string | number>>;
  #folder = '';
  #port = 0;
  #process: ChildProcess | undefined;
  #schemas = 0;
  readonly #killAtExit = () => this.#process?.kill('SIGKILL');

  /** @param settings of its configuration, in place of what suits tests. */
  constructor(binaries: string, timeoutMs: number, settings: Readonly<Record<string, string | number>> = {}) {
    this.#binaries = binaries;
    this.#settings = settings;
    this.#timeoutMs = timeoutMs;
  }

  /** How to connect to its database `postgres`, through TCP. */
  get connectionString(): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.#port}/postgres`;
  }

  get port(): number {
    return this.#port;
  }

  /** A name that no other test of this server has: tests in schemas of their own don't meet. */
  newSchema(): string {
    this.#schemas += 1;
    return `test_${this.#schemas}`;
  }

  /** Makes the data and starts the server. */
  async create(): Promise<void> {
    this.#folder = mkdtempSync(join(tmpdir(), 'orchard-pg-'));
    const { uid, gid } = otherThanRoot();
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync'];
    execFileSync(join(this.#binaries, 'initdb'), ['-D', this.#folder, ...options], {
      ...otherThanRoot(),
      cwd: this.#folder,
      stdio: 'ignore',
    });
    this.#port = await freePort();
    process.on('exit', this.#killAtExit);
    await this.start();
  }

  /** Starts it, on the same port each time, and waits until it answers. */
  async start(): Promise<void> {
    const settings = {
      fsync: 'off',
      max_connections: 200,
      unix_socket_directories: this.#folder,
      log_statement: 'none',
      ...this.#settings,
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const address = ['-h', '127.0.0.1', '-p', `${this.#port}`];
    this.#process = spawn(join(this.#binaries, 'postgres'), ['-D', this.#folder, ...address, ...options], {
      ...otherThanRoot(),
      cwd: this.#folder,
      stdio: 'ignore',
    });
    const deadline = performance.now() + this.#timeoutMs;
    while (!(await this.#answers())) {
      if (performance.now() > deadline || this.#process.exitCode !== null) throw new Error('PostgreSQL does not start');
      await wait(50);
    }
  }

  /** Stops it, by default as an operator would; SIGQUIT is as if the machine had failed. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = once(running, 'exit');
    running.kill(signal);
    await ended;
  }

  /** Stops it and deletes its data. */
  async remove(): Promise<void> {
    await this.stop('SIGQUIT');
    process.off('exit', this.#killAtExit);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Sends statements as the operator. @returns the rows of the last one. */
  async sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.connectionString });
    client.on('error', () => undefined); // of a server that stops meanwhile; the statement fails by it
    await client.connect();
    try {
      const { rows } = await client.query(text, values);
      return rows;
    } finally {
      await client.end();
    }
  }

  async #answers(): Promise<boolean> {
    return this.sql('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

function debianFolders(): string[] {
  if (!existsSync(DEBIAN)) return [];
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(DEBIAN, version, 'bin'));
}

/** The user to run as, where the tests run as root: postgres, which Debian's package makes. */
function otherThanRoot(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}
