import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ModelFiles } from '../../testing/model-loader-contract.js';
import { serve } from '../system/serve.js';

/** A Hugging Face Hub on this machine, as far as loading models goes. */

export const TOKEN = 'hf_secret';
/** Files of more bytes lie in LFS, which another host serves. */
const MAX_GIT_BYTES = 1000;

export interface HubVisit {
  readonly host: 'hub' | 'files';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

/** Answers a request instead of the Hub where it returns true. */
export type Interference = (visit: HubVisit, response: ServerResponse, request: IncomingMessage) => boolean;

export interface FakeHub {
  readonly endpoint: string;
  readonly visits: readonly HubVisit[];
  /** Takes the place of any earlier one. */
  interfere(interference: Interference): void;
  /** Changes a model, which comes to a new commit. */
  publish(model: string, files: Readonly<Record<string, string>>): string;
}

interface Commit {
  readonly sha: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Runs until the test has ended. */
export async function fakeHub(models: ModelFiles): Promise<FakeHub> {
  const visits: HubVisit[] = [];
  const heads = new Map<string, Commit>();
  const commits = new Map<string, Commit>();
  let interference: Interference = () => false;
  const publish = (model: string, files: Readonly<Record<string, string>>): string => {
    const sha = sha1(`${model}${JSON.stringify(files)}`);
    heads.set(model, { sha, files });
    commits.set(`${model}/${sha}`, { sha, files });
    return sha;
  };
  for (const [model, files] of Object.entries(models)) publish(model, files);

  const visited =
    (host: HubVisit['host'], answer: RequestListener): RequestListener =>
    (request, response) => {
      const { range, authorization } = request.headers;
      const visit: HubVisit = { host, path: request.url ?? '', range, authorization };
      visits.push(visit);
      if (!interference(visit, response, request)) answer(request, response);
    };
  const contentOf = (path: string): string | undefined => {
    const [, model = '', sha = '', file = ''] = /^\/(.+)\/resolve\/([^/]+)\/(.+)$/.exec(path) ?? [];
    return commits.get(`${model}/${sha}`)?.files[decodeURIComponent(file)];
  };
  const files = await serve(
    visited('files', (request, response) => {
      const content = contentOf(request.url ?? '');
      if (content === undefined) response.writeHead(404).end();
      else sendRange(content, request, response);
    }),
  );
  const endpoint = await serve(
    visited('hub', (request, response) => {
      const path = new URL(request.url ?? '', 'http://hub').pathname;
      const asked = /^\/api\/models\/(.+)\/revision\/([^/]+)$/.exec(path);
      if (asked) {
        const [, model = '', revision = ''] = asked;
        const head = heads.get(model);
        const commit = revision === 'main' ? head : commits.get(`${model}/${decodeURIComponent(revision)}`);
        if (commit === undefined) response.writeHead(404).end('{"error":"Repository not found"}');
        else response.end(JSON.stringify(description(commit)));
        return;
      }
      const content = contentOf(path);
      if (content === undefined) response.writeHead(404).end();
      else if (isLarge(content)) response.writeHead(302, { location: `${files}${path}` }).end();
      else sendRange(content, request, response);
    }),
  );
  return {
    endpoint,
    visits,
    interfere: (next) => {
      interference = next;
    },
    publish,
  };
}

export const sha1 = (content: string): string => createHash('sha1').update(content).digest('hex');
export const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');

const isLarge = (content: string): boolean => Buffer.byteLength(content) > MAX_GIT_BYTES;

function description({ sha, files }: Commit) {
  return {
    sha,
    siblings: Object.entries(files).map(([rfilename, content]) => {
      const size = Buffer.byteLength(content);
      const blobId = sha1(`blob ${size}\0${content}`);
      if (!isLarge(content)) return { rfilename, size, blobId };
      return { rfilename, size, blobId, lfs: { sha256: sha256(content), size, pointerSize: 133 } };
    }),
  };
}

/** The bytes that the request's `Range` asks for, or all. */
export function sendRange(content: string, request: IncomingMessage, response: ServerResponse): void {
  const bytes = Buffer.from(content);
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (start > 0 && start >= bytes.length) response.writeHead(416).end();
  else if (start === 0) response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
  else {
    const headers = {
      'content-length': bytes.length - start,
      'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
    };
    response.writeHead(206, headers).end(bytes.subarray(start));
  }
}
