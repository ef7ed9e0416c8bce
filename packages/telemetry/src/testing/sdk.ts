/** A real OpenTelemetry SDK for tests, with the spans that it has exported. Not part of the package's interface. */
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor
} from '@opentelemetry/sdk-trace-base'

/** Registers the SDK; `end` removes it. */
export function startSdk(sampler?: Sampler) {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler })
  })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] })
  )
  return {
    tracer: provider.getTracer('test'),
    /** The spans that have ended. */
    get spans(): ReadableSpan[] {
      return exporter.getFinishedSpans()
    },
    reset: () => exporter.reset(),
    async end() {
      await provider.shutdown()
      trace.disable()
      context.disable()
      propagation.disable()
    }
  }
}
