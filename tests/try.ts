import { sharedKafka } from './support/kafka-server.ts'
import { kafka } from '@elysia-microservices/kafka'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const s = await sharedKafka()
const t = () => kafka({ brokers: [s.broker], partitions: 1, advertised: false })
const service = microservice({ name: 'orders', transport: t() }).message('echo', ({ data }) => data).message('silent', () => new Promise(() => {}))
await service.listen()
const client = connect({ transport: t() })
const p = client.request('silent').catch(e => console.log(String(e)))
const q = client.request('echo', 1).then(console.log, e => console.log(String(e)))
await q
console.log('closing')
await client.close()
console.log('closed')
await client.request('echo', 1).catch(e => console.log(String(e)))
process.exit(0)
