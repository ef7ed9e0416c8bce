/** The echo service of this project over an engine that was started for it. */
import { microservice, type Transport } from 'elysia-microservices'
import type { EngineServer } from '../engine-server.ts'
import type { RunningServer, Work } from '../run-server.ts'
import { echoController } from './echo-controller.ts'

/** Starts the service. The service stops together with its engine. */
export async function startOver(
  engine: EngineServer,
  transport: Transport,
  work: Work
): Promise<RunningServer> {
  const service = microservice({ name: 'echo', transport, controllers: [echoController(work)] })
  await service.listen()
  return {
    port: engine.port,
    async stop() {
      await service.stop()
      await engine.stop()
    }
  }
}
