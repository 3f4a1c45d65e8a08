import * as z from 'zod';
import { ModelDownloadError } from '../errors.js';
import { fetchText } from '../network/index.js';
import type { Checksum } from './checksum.js';
import { hubError, requestOptions } from './hub-request.js';
import type { HubSettings } from './hub-settings.js';

/** Largest list of a model's files: 64 MiB, enough for about 300,000 files. */
const MAX_LIST_BYTES = 64 * 1024 ** 2;

/** A model of the Hub at one commit. */
export interface HubRepository {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

export interface HubFile {
  /** Its path in the repository, with '/'. */
  readonly path: string;
  readonly bytes: number;
  readonly checksum: Checksum;
}

const sha1Schema = z.string().regex(/^[0-9a-f]{40}$/);
/** The server's paths become local files: none may lead out of the snapshot. */
const pathSchema = z
  .string()
  .refine((path) =>
    path.split('/').every((part) => !['', '.', '..'].includes(part) && !/[\\:\0]/.test(part)),
  );

/** The fields that are read from the Hub's answer to `/api/models/{model}/revision/{revision}?blobs=true`. */
const answerSchema = z.object({
  sha: sha1Schema,
  siblings: z.array(
    z.object({
      rfilename: pathSchema,
      size: z.int().nonnegative(),
      /** The file's id in git: the SHA-1 of the file, or of its pointer if the file lies in LFS. */
      blobId: sha1Schema,
      lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.int().nonnegative() }).nullish(),
    }),
  ),
});

/**
 * Asks the Hub which commit a revision is at and which files it has.
 * @throws NotFoundError, ModelDownloadError; the signal's reason.
 */
export async function describeRepository(
  model: string,
  revision: string,
  settings: HubSettings,
  signal: AbortSignal | undefined,
): Promise<HubRepository> {
  const path = `api/models/${model}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const url = new URL(`${settings.endpoint}/${path}`);
  const request = { model, revision, url, signal };
  const options = { ...requestOptions(request, settings), maxBytes: MAX_LIST_BYTES };
  const text = await fetchText(options).catch((thrown) => {
    throw hubError(thrown, request, settings);
  });
  const answer = answerSchema.safeParse(parsedJson(text));
  if (!answer.success) {
    const [issue] = answer.error.issues;
    const reason = `this is not an answer of the Hugging Face Hub (${issue?.path.join('.')}: ${issue?.message}); check the endpoint`;
    throw new ModelDownloadError(model, url.href, reason);
  }
  const { sha: commit, siblings } = answer.data;
  return {
    commit,
    files: siblings.map(({ rfilename, size, blobId, lfs }) => ({
      path: rfilename,
      bytes: lfs?.size ?? size,
      checksum: lfs ? { algorithm: 'SHA-256', value: lfs.sha256 } : { algorithm: 'git SHA-1', value: blobId },
    })),
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
