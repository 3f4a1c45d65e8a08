import type { ResultAsync } from 'neverthrow';
import { type InferenceResponse, LOCAL_ACCOUNT, type OrchardError, querySchema, validate } from '../contract/index.js';
import type { JudgedResult } from '../families/index.js';
import type { FoundModel } from '../models/index.js';
import { toResult } from './answered.js';
import { type CallOptions, requestOptions } from './call-options.js';
import type { InferenceService } from './inference-service.js';
import { queryResponse } from './responses.js';
import { inferenceService, type ServiceOptions } from './service-options.js';

/** How a model is opened. */
export interface OpenOptions {
  readonly service: ServiceOptions;
  /** Called after the model is closed, to remove temporary files. */
  readonly onClose?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * An inference service that has loaded one model.
 * @throws ValidationError, ModelFolderError, MemoryLimitError, AbortedError
 */
export async function serviceFor(
  { name, directory }: FoundModel,
  { service, signal }: Pick<OpenOptions, 'service' | 'signal'>,
): Promise<InferenceService> {
  const opened = inferenceService(service);
  const warmed = await toResult(`loading ${name}`, signal, () => opened.warm(directory));
  if (warmed.isOk()) return opened;
  await opened.close();
  throw warmed.error;
}

/** The result of the model in a folder for one text. */
export function askFolder(
  service: InferenceService,
  { name, directory }: FoundModel,
  text: string,
  options: CallOptions,
): ResultAsync<InferenceResponse<JudgedResult>, OrchardError> {
  return toResult(`asking model ${name}`, options.signal, async () => {
    const queries = [validate(querySchema, text, ['query'])];
    const request = requestOptions(options, LOCAL_ACCOUNT.app_id);
    return queryResponse(await service.predict(directory, queries, request));
  });
}
