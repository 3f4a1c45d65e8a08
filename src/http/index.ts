export type { AccountLimits } from './account-limits.js';
export type { Admission, OperatorAccess, RateLimiter, WrongKeyLimiter } from './admission.js';
export {
  type Authenticate,
  addToKeyFile,
  hashedKeys,
  newApiKey,
  parseStoredKeys,
  readKeyFile,
  type StoredKey,
} from './api-keys.js';
export { copyToDatabase, type DataPlace, withOperator, withStorage } from './backends.js';
export type { BodyLimits } from './body.js';
export { createHandler, type Handler, type HandlerOptions } from './create-handler.js';
export type { DriftWatch } from './drift-watch.js';
export type { LabellingLimits, LabellingSets } from './labelling.js';
export type { AccessLogEntry, ProbeOptions, Readiness } from './probes.js';
export { type CalendarQuota, type CalendarQuotaOptions, calendarQuota, type Quota } from './quota.js';
export type { Connection } from './route.js';
export { type RunningServer, type ServeOptions, serve } from './serve.js';
export {
  type AccountServices,
  type AccountServicesOptions,
  accountServices,
  type ErasedData,
  type InstalledModel,
  type MedleyService,
  type OperatorServices,
  type PageServices,
  type PredictorService,
  type Services,
  type TrainerService,
  type VersionsOf,
  type VersionsService,
} from './services.js';
export { startService } from './start-service.js';
export { DatasetUploads, type UploadLimits } from './uploads.js';
