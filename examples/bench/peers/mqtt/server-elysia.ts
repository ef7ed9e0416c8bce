/** The echo service of this project over MQTT. */
import { mqtt } from '@elysia-microservices/mqtt'
import { startOver } from '../elysia/over-engine.ts'
import { runServer } from '../run-server.ts'
import { startMosquitto } from './mosquitto.ts'

await runServer(7071, async ({ host, port, work }) => {
  const engine = await startMosquitto(host, port)
  return startOver(engine, mqtt({ url: `mqtt://${host}:${engine.port}` }), work)
})
