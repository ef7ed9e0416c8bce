/** Over MQTT: a device publishes plain JSON and sends a request. The device does not use this library. */
import { once } from 'node:events'
import { mqtt } from '@elysia-microservices/mqtt'
import { type Message, microservice } from 'elysia-microservices'
import { connectAsync } from 'mqtt'

const url = process.env['MQTT_URL'] ?? 'mqtt://localhost:1883'
const measured = new EventTarget()

const plants = microservice({ name: 'plants', transport: mqtt({ url, replyTo: ['devices/+/answers'] }) })
  .message('plants/limit', ({ data }: Message<{ plant: number }>) => ({ most: data.plant * 10 }))
  .event('plants/+/measured', ({ pattern, data }: Message<{ celsius: number }>) => {
    console.log(`${pattern}: ${data.celsius}`)
    measured.dispatchEvent(new Event('one'))
  })
await plants.listen()

const device = await connectAsync(url, { protocolVersion: 5 })
await device.subscribeAsync('devices/7/answers')
const answer = new Promise((resolve) => device.once('message', (_topic, bytes) => resolve(`${bytes}`)))
const one = once(measured, 'one')
await device.publishAsync('plants/7/measured', JSON.stringify({ celsius: 21.5 }))
await device.publishAsync('plants/limit', JSON.stringify({ plant: 7 }), {
  properties: { responseTopic: 'devices/7/answers', correlationData: Buffer.from('1') }
})
await one
console.log(`the device has its answer: ${await answer}`)

await device.endAsync()
await plants.stop()
