import type { Route } from './route.js';
import { inferenceRoutes } from './routes/inference.js';
import { labellingRoutes } from './routes/labelling.js';
import { operatorRoutes } from './routes/operator.js';
import { pageRoutes } from './routes/page.js';
import { trainerRoutes } from './routes/trainer.js';
import type { OperatorServices, PageServices } from './services.js';

/** The table of routes. Paths without an API key are in create-handler.ts. */

/** Those of docs/service.md and of the OpenAPI document. */
export function documentedRoutes(): readonly Route[] {
  return [...trainerRoutes(), ...inferenceRoutes];
}

/** Those that depend on what the service offers. */
export function optionalRoutes(
  page: PageServices | undefined,
  operator: OperatorServices | undefined,
  maxUploadBytes: number | undefined,
): readonly Route[] {
  return [
    ...(page ? [...pageRoutes(page, maxUploadBytes), ...labellingRoutes(page.labelling)] : []),
    ...(operator ? operatorRoutes(operator) : []),
  ];
}
