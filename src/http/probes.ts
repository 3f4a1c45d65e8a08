import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { Registry } from 'prom-client';
import type { HandlerEnvironment } from './environment.js';
import { observe } from './observe.js';
import type { ProbeOptions } from './probe-options.js';
import { Refusal, refusalOf } from './refusal.js';
import { refuse } from './refuse.js';
import type { AllowedMethods } from './route.js';

export const probeMethods: AllowedMethods = { '/health': ['GET'], '/ready': ['GET'], '/metrics': ['GET'] };

/** What whoever runs a process asks it, without a key: whether it lives, whether it can work, what it has done. */
export function addProbes(app: Hono<HandlerEnvironment>, registry: Registry, { ready }: ProbeOptions): void {
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/ready', async (context) => {
    const reason = await ready?.();
    if (reason !== undefined) throw new Refusal(503, [{ loc: [], msg: reason, type: 'not_ready' }]);
    return context.json({ status: 'ready' });
  });
  app.get('/metrics', async (context) =>
    context.body(await registry.metrics(), { headers: { 'content-type': registry.contentType } }),
  );
}

/** Answers 405 for what has other methods; runs after all that have been added. */
export function refuseOtherMethods(app: Hono<HandlerEnvironment>, methods: AllowedMethods): void {
  for (const [path, allowed] of Object.entries(methods)) {
    const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ');
    const detail = [{ loc: ['method'], msg: `this path takes ${allow}`, type: 'method' }];
    app.all(path, () => {
      throw new Refusal(405, detail, { headers: { allow } });
    });
  }
}

/** What a process answers that serves nothing but its probes. */
export function probeHandler({ registry = new Registry(), log, ...options }: ProbeOptions) {
  const app = new Hono<HandlerEnvironment>();
  app.use(requestId(), observe(registry, log));
  addProbes(app, registry, options);
  refuseOtherMethods(app, probeMethods);
  const paths = Object.keys(probeMethods).join(', ');
  app.notFound((context) => {
    const msg = `there is no such path; this process trains, and answers ${paths}`;
    return refuse(context, new Refusal(404, [{ loc: ['path'], msg, type: 'not_found' }]));
  });
  app.onError((thrown, context) => refuse(context, refusalOf(thrown)));
  return async (request: Request, connection = {}) => app.fetch(request, connection);
}
