/** mqtt.js alone, used for speed: MQTT 5, one topic for answers, correlation data, no confirmations, no timer. */
import { randomUUID } from 'node:crypto'
import { connectAsync } from 'mqtt'
import type { OpenEchoClient } from '../echo-client.ts'

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const driver = await connectAsync(`mqtt://${host}:${port}`, { protocolVersion: 5 })
  const responseTopic = `answers/${randomUUID()}`
  const waiting = new Map<string, Waiting>()
  let last = 0
  driver.on('message', (_topic, bytes, { properties }) => {
    const id = String(properties?.correlationData)
    const call = waiting.get(id)
    waiting.delete(id)
    call?.answered(JSON.parse(bytes.toString()))
  })
  driver.once('close', () => {
    for (const { failed } of waiting.values()) failed(new Error('The connection is lost'))
    waiting.clear()
  })
  await driver.subscribeAsync(responseTopic)
  return {
    echo(payload, answered, failed) {
      const id = String(++last)
      waiting.set(id, { answered, failed })
      const properties = { responseTopic, correlationData: Buffer.from(id) }
      driver.publish('echo', JSON.stringify(payload), { properties })
    },
    async close() {
      await driver.endAsync(true)
    }
  }
}
