/** A program that receives SIGTERM. Its arguments name what the process contains besides a service over TCP. */
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'

const parts = new Set(process.argv.slice(2))
const { NATS_URL: servers = '', DATABASE_URL: database = '' } = process.env
// Loads only the parts that its arguments name, because tests start a hundred of these processes.
const nats = async () => (await import('@elysia-microservices/nats')).nats({ url: servers })
const transports = [tcp({ host: '127.0.0.1', port: 0 }), ...(parts.has('nats') ? [await nats()] : [])]
const empty = microservice({
  name: 'orders',
  transport: transports,
  drain: 2_000,
  ...(parts.has('no shutdownOn') ? {} : { shutdownOn: ['SIGTERM'] })
})
if (parts.has('telemetry')) empty.wrap((await import('@elysia-microservices/telemetry')).telemetry())
const service = empty
  .message('echo', ({ data }) => data)
  .message('live', async function* () {
    yield 'begun'
    await new Promise(() => {})
  })
if (parts.has('hooks')) {
  service
    .onStart(async () => {
      await pause(20)
      console.log('the pool is open')
    })
    .onStop(async () => {
      console.log('the pool closes')
      await pause(100)
      console.log('the pool has closed')
    })
    .onStop(function flush() {
      if (parts.has('endless hook')) return new Promise(() => {})
      console.log('spans are sent')
      return undefined
    })
}
if (parts.has('http')) {
  const { newApp } = await import('../support/http-app.ts')
  const app = newApp()
    .use(service)
    .get('/', () => 'hello')
  if (parts.has('telemetry')) app.use((await import('@elysia-microservices/telemetry')).prometheus())
  // Streams bytes, because Elysia cannot stream texts of generators on Deno.
  const endless = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('begun')) })
  app.get('/live', () => new Response(endless()))
  app.get('/slow', async () => {
    console.log('http waits')
    await pause(300)
    return 'answered'
  })
  if (parts.has('hooks')) {
    app.onStop(async () => {
      console.log('the app stops')
      await pause(100)
      console.log('the app has stopped')
    })
  }
  const port = Number(process.env['HTTP_PORT'])
  await new Promise<void>((resolve) => app.listen(port, () => resolve()))
  if (parts.has('open stream')) {
    const response = await fetch(`http://127.0.0.1:${port}/live`)
    void response.body!.getReader().read()
  }
}
await service.listen()
if (parts.has('client')) {
  const client = connect<typeof service>({ host: '127.0.0.1', port: service.address!.port, logger: silent() })
  await client.request('echo', 1)
  if (parts.has('open stream'))
    void client
      .stream('live')
      .next()
      .catch(() => {})
}
if (parts.has('outbox')) {
  const { default: postgres } = await import('postgres')
  const { migrate, outboxRelay } = await import('@elysia-microservices/outbox')
  const sql = postgres(database, { onnotice() {} })
  await migrate(sql)
  const client = connect({ transport: await nats() })
  await outboxRelay({ sql, client }).start()
}
if (parts.has('interval')) setInterval(() => {}, 1_000)
if (parts.has('own listener')) process.on('SIGTERM', () => {})
console.log('ready')
function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}

function silent() {
  return { error() {}, warn() {} }
}
