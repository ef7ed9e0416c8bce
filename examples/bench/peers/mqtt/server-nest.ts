/** Nest's echo server over MQTT, as its documentation shows it. */
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { echoModule } from '../nest/echo-module.ts'
import { runServer } from '../run-server.ts'
import { startMosquitto } from './mosquitto.ts'

await runServer(7072, async ({ host, port, work }) => {
  const server = await startMosquitto(host, port)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.MQTT,
    options: { url: `mqtt://${host}:${server.port}` },
    logger: ['error', 'warn']
  })
  await app.listen()
  return {
    port: server.port,
    async stop() {
      await app.close()
      await server.stop()
    }
  }
})
