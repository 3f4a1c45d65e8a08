/** What the public entry `orchard-nlp/http` and the command `orchard serve` are made of. */

export type { AccessLogEntry } from './access-log.js';
export { type AccountServices, type AccountServicesOptions, accountServices } from './account-services.js';
export type { Admission } from './admission-options.js';
export { type Authenticate, hashedKeys, newApiKey, parseStoredKeys, type StoredKey } from './api-keys.js';
export { type CalendarQuota, type CalendarQuotaOptions, calendarQuota } from './calendar-quota.js';
export type { Connection } from './connection.js';
export { createHandler, type Handler, type HandlerOptions } from './create-handler.js';
export type { DatasetUploads } from './dataset-uploads.js';
export type { InstalledModel } from './installed-models.js';
export { addToKeyFile, readKeyFile } from './key-file.js';
export type { Quota, RateLimiter, WrongKeyLimiter } from './limiters.js';
export type { OperatorAccess } from './operator-access.js';
export type { ErasedData, OperatorServices } from './operator-services.js';
export type { PageServices } from './page-services.js';
export type { ProbeOptions } from './probe-options.js';
export type { BodyLimits } from './read-body.js';
export type { Readiness } from './readiness.js';
export { type RunningServer, type ServeOptions, serve } from './serve.js';
export type { MedleyService, PredictorService, Services, TrainerService } from './services.js';
export { type ServiceOptions, startService } from './start-service.js';
export { copyToDatabase, type DataPlace, withOperator } from './stored-data.js';
export type { UploadLimits } from './upload-budget.js';
