export { type DownloadOptions, type DownloadProgress, download } from './download.js';
export { fetchText } from './fetch-text.js';
export { NetworkFailure } from './network-failure.js';
export { publicFetch } from './public-fetch.js';
export type { Fetch, RequestOptions } from './request.js';
export { requirePublicHost } from './require-public-host.js';
export type { RetryOptions } from './retrying.js';
