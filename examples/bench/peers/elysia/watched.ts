/** The echo server of this project, watched: the class is that of `server.ts`, and `telemetry()` stands around it. */
import { telemetry } from '@elysia-microservices/telemetry'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MessagePattern, microservice, Payload } from 'elysia-microservices'
import { runServer } from '../run-server.ts'

class EchoController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

/** Takes spans and forgets them: to send them costs what the network and the receiver cost. */
const nowhere = {
  export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
  shutdown: async () => {}
}

/**
 * Runs the server.
 * @param share the share of messages that is traced; `undefined`: there is no SDK
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
    const service = microservice({ transport: 'tcp', host, port, controllers: [EchoController] }).use(
      telemetry({ sample: share })
    )
    await service.listen()
    return { port: service.address!.port, stop: () => service.stop() }
  })
}
