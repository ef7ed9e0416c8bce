/**
 * Work that keeps a processor busy: one process for each processor, and no more requests at a time than these
 * processes can handle.
 */
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { halve, type Picture } from './picture.ts'

const port = Number(process.env['PORT'] ?? 4000)

const images = microservice({
  name: 'images',
  transport: 'tcp',
  port,
  workers: 'auto',
  limits: { inFlight: 'adaptive' }
}).message('images.halve', ({ data }: Message<Picture>) => halve(data))
await images.listen()

// The workers run this program, too: only the first process sends requests.
if (images.workers.role !== 'worker') {
  // Several connections are spread over several workers; MessagePack can carry bytes.
  const client = connect<typeof images>({ port, connections: 4, codec: 'msgpack' })
  const picture: Picture = { width: 256, height: 256, pixels: new Uint8Array(256 * 256 * 4).fill(200) }
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () => client.safe.request('images.halve', picture, { idempotent: true }))
  )
  const refused = outcomes.filter(({ error }) => error?.code === 'REJECTED').length
  const halved = outcomes.filter(({ data }) => data?.width === 128).length
  console.log(`${halved} pictures halved, ${refused} refused because all workers were busy`)
  await client.close()
  await images.stop()
}
