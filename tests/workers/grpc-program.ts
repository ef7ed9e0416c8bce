/** A program whose service has two workers that share a port of gRPC with TLS. Prints where it listens. */
import { readFileSync } from 'node:fs'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto } from '@elysia-microservices/protobuf'
import { microservice } from 'elysia-microservices'

const [folder = '', protos = ''] = process.argv.slice(2)
const certificate = (name: string) => ({
  cert: readFileSync(`${folder}/${name}.pem`),
  key: readFileSync(`${folder}/${name}.key`)
})

const proto = await loadProto({ files: `${protos}/shop/orders.proto`, includeDirs: [protos] })
const transport = grpc({ proto, host: '127.0.0.1', port: 0, tls: certificate('service') })
const service = microservice({ name: 'shop', transport, workers: 2 }).message('shop.Orders/GetTotal', () => ({
  cents: process.pid
}))
await service.listen()
if (service.workers.role === 'supervisor') {
  console.log(JSON.stringify({ port: service.address?.port }))
  process.on('SIGWINCH', () => {
    void transport
      .reloadTls(certificate('renewed'))
      .then(() => console.log(JSON.stringify({ renewed: true })))
  })
}
