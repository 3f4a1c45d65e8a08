import type { Route } from './route.js';
import { inferenceRoutes } from './routes/inference.js';
import { labellingRoutes } from './routes/labelling.js';
import { operatorRoutes } from './routes/operator.js';
import { pageRoutes } from './routes/page.js';
import { trainerRoutes } from './routes/trainer.js';
import { versionRoutes } from './routes/versions.js';
import type { OperatorServices, PageServices, VersionsOf } from './services.js';

/** The table of routes. Paths without an API key are in create-handler.ts. */

/** Those of docs/service.md and of the OpenAPI document. */
export function documentedRoutes(): readonly Route[] {
  return [...trainerRoutes(), ...inferenceRoutes];
}

/** Those that depend on what the service offers. */
export function optionalRoutes(
  { page, versions }: { readonly page?: PageServices | undefined; readonly versions?: VersionsOf | undefined },
  operator: OperatorServices | undefined,
  maxUploadBytes: number | undefined,
): readonly Route[] {
  return [
    ...(versions ? versionRoutes(versions) : []),
    ...(page ? [...pageRoutes(page, maxUploadBytes), ...labellingRoutes(page.labelling)] : []),
    ...(operator ? operatorRoutes(operator) : []),
  ];
}
