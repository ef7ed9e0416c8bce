/** The echo with mqtt.js alone, used for speed: one topic, JSON read and written as an application would. */
import { connectAsync } from 'mqtt'
import { runServer } from '../run-server.ts'
import { startMosquitto } from './mosquitto.ts'

await runServer(7073, async ({ host, port }) => {
  const server = await startMosquitto(host, port)
  const driver = await connectAsync(`mqtt://${host}:${server.port}`, { protocolVersion: 5 })
  driver.on('message', (_topic, bytes, { properties }) => {
    const { responseTopic = '', correlationData } = properties ?? {}
    const answer = JSON.stringify(JSON.parse(bytes.toString()))
    driver.publish(responseTopic, answer, { properties: { ...(correlationData && { correlationData }) } })
  })
  await driver.subscribeAsync('echo')
  return {
    port: server.port,
    async stop() {
      await driver.endAsync(true)
      await server.stop()
    }
  }
})
