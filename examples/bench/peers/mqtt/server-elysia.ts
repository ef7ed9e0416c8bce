/** The echo service of this project over MQTT. */
import { mqtt } from '@elysia-microservices/mqtt'
import { microservice } from 'elysia-microservices'
import { echoController } from '../elysia/echo-controller.ts'
import { runServer } from '../run-server.ts'
import { startMosquitto } from './mosquitto.ts'

await runServer(7071, async ({ host, port, work }) => {
  const server = await startMosquitto(host, port)
  const transport = mqtt({ url: `mqtt://${host}:${server.port}` })
  const service = microservice({ name: 'echo', transport, controllers: [echoController(work)] })
  await service.listen()
  return {
    port: server.port,
    async stop() {
      await service.stop()
      await server.stop()
    }
  }
})
