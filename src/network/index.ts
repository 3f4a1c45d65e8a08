export { type DownloadOptions, type DownloadProgress, download } from './download.js';
export { NetworkFailure } from './network-failure.js';
export { publicFetch } from './public-fetch.js';
export { type Fetch, fetchText, type RequestOptions, type RetryOptions } from './request.js';
export { requirePublicHost } from './require-public-host.js';
