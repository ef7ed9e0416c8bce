import { sharedKafka } from '/work/wt-kafka/tests/support/kafka-server.ts'
import { kafka } from '/work/wt-kafka/packages/kafka/src/index.ts'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const s = await sharedKafka()
const t = () => kafka({ brokers: [s.broker], partitions: 1 })
let at = performance.now()
const lap = (w: string) => { console.log(w, Math.round(performance.now() - at)); at = performance.now() }
const service = microservice({ name: 'orders', transport: t() }).message('echo', ({ data }) => data).message('count', async function* ({ data }: any) { for (let i = 0; i < data; i++) yield i }).event('noted', ({ data }) => console.log('noted', data))
  .message('fails', () => { throw new Error('x') })
await service.listen(); lap('listen')
const client = connect({ transport: t() })
console.log(await client.request('echo', { a: 1 })); lap('first')
for (const d of [1, 'x', null, undefined, [1], true, '{"a"', '']) console.log(d, await client.request('echo', d)); lap('8')
for await (const v of client.stream('count', 5)) console.log(v)
await client.emit('noted', 7)
console.log(await client.request('fails', 1).catch((e) => e)); lap('x')
console.log(await client.request('nobody', 1).catch((e) => e.message)); lap('x')
let n = 0, end = performance.now() + 3000
await Promise.all(Array.from({ length: 100 }, async () => { while (performance.now() < end) { await client.request('echo', 'x'.repeat(198)); n++ } }))
console.log('req/s', n / 3)
n = 0; for await (const v of client.stream('count', 100000)) n++; lap('stream ' + n)
await client.close(); lap('close'); await service.stop(); lap('stop')
process.exit(0)
