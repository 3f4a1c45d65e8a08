import { tracingChannel } from 'node:diagnostics_channel';
import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { memoryStorage, Predictor, type RequestTrace, type StageTrace } from 'orchard-nlp';

const provider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
});
const tracer = provider.getTracer('orchard');

const nothing = () => {};

// A span for each request.
const spans = new WeakMap<RequestTrace, Span>();
tracingChannel<RequestTrace>('orchard.predict').subscribe({
  start: (request) => {
    const { model, texts } = request;
    spans.set(request, tracer.startSpan('orchard.predict', { attributes: { model, texts } }));
  },
  asyncEnd: (request) => spans.get(request)?.end(),
  end: nothing,
  asyncStart: nothing,
  error: (request) => spans.get(request)?.setStatus({ code: SpanStatusCode.ERROR }),
});

// Below it, a span for each stage of the batch that answered it.
for (const stage of ['queue', 'load', 'tokenize', 'run', 'decode']) {
  tracingChannel<StageTrace>(`orchard.${stage}`).subscribe({
    end: ({ texts, startTime, endTime, requests }) => {
      for (const span of requests.flatMap((request) => spans.get(request) ?? [])) {
        const parent = trace.setSpan(context.active(), span);
        tracer.startSpan(`orchard.${stage}`, { startTime, attributes: { texts } }, parent).end(endTime);
      }
    },
    start: nothing,
    asyncStart: nothing,
    asyncEnd: nothing,
    error: nothing,
  });
}

await using predictor = new Predictor({ storage: memoryStorage() });
const answer = await predictor.predictPretrained('emotion-detection', 'Works perfectly!');
if (answer.isErr()) throw answer.error;
await provider.shutdown();
