export { type DownloadOptions, type DownloadProgress, download } from './download.js';
export { fetchText } from './fetch-text.js';
export { NetworkFailure } from './network-failure.js';
export { publicFetch, requirePublicHost } from './public-fetch.js';
export type { Fetch, RequestOptions } from './request.js';
export type { RetryOptions } from './retrying.js';
