/** The echo server of this project with telemetry: the controller of `server.ts`, with `telemetry()` as a plugin. */
import { telemetry } from '@elysia-microservices/telemetry'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { microservice } from 'elysia-microservices'
import { MessagePattern, Payload } from 'elysia-microservices/nest'
import { runServer } from '../run-server.ts'

class EchoController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

/** An exporter that drops all spans: the cost of sending depends on the network and the receiver. */
const nowhere = {
  export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
  shutdown: async () => {}
}

/**
 * Runs the server.
 * @param share the share of messages to trace; `undefined`: without an SDK
 */
export async function runWatched(port: number, share: number | undefined): Promise<void> {
  if (share !== undefined) {
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({
        spanProcessors: [new BatchSpanProcessor(nowhere)]
      })
    )
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  }
  await runServer(port, async ({ host, port }) => {
    const service = microservice({ transport: 'tcp', host, port, controllers: [EchoController] }).wrap(
      telemetry({ sample: share })
    )
    await service.listen()
    return { port: service.address!.port, stop: () => service.stop() }
  })
}
