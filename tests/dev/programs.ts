/** The sources of services for test projects. Each prints its process id. */

/** A service of this library. @param version the version that it prints */
export function service(name: string, port: number, version = 'v1'): string {
  return `import { microservice } from 'elysia-microservices'
const service = microservice({ name: '${name}', transport: 'tcp', port: ${port}, shutdownOn: ['SIGTERM'] })
  .message('${name}.version', () => '${version}')
await service.listen()
console.log('${name} ${version} is process', process.pid)
`
}

/** A service that keeps its events in its own process, as in a file of SQLite: one is a dead letter, one waits for its time. */
export function keeping(name: string, port: number): string {
  return `import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const place = { transport: 'tcp', port: ${port}, store: memory() }
const service = microservice({ ...place, name: '${name}', shutdownOn: ['SIGTERM'] })
  .event('${name}.failing', () => { throw new Error('no tea') }, { durable: { retry: { attempts: 1 } } })
  .event('${name}.later', () => {}, { durable: true })
await service.listen()
const client = connect(place)
await client.publish('${name}.failing', { n: 1 })
await client.publish('${name}.later', { n: 2 }, { id: 'one', delay: 3_600_000 })
await client.close()
`
}

/** A service that only gRPC reaches. */
export function overGrpc(name: string, port: number): string {
  return `import { grpc } from '@elysia-microservices/grpc'
import { serviceProto } from '@elysia-microservices/protobuf'
import { memory, microservice } from 'elysia-microservices'
const made = (transport) =>
  microservice({ name: '${name}', transport, shutdownOn: ['SIGTERM'] }).message('${name}.version', () => 'v1')
await made(grpc({ proto: serviceProto(made(memory())), port: ${port} })).listen()
`
}

/** A NestJS application with this library's transport. */
export function nestService(name: string, port: number): string {
  return `import { MicroserviceServer } from '@elysia-microservices/nestjs'
const strategy = new MicroserviceServer({ name: '${name}', port: ${port} })
strategy.addHandler('${name}.version', async () => 'v1')
strategy.listen((error) => { if (error) throw error })
process.once('SIGTERM', () => strategy.close())
`
}

/** A program that serves HTTP without this library. @param body further lines */
export function web(port: number, body = ''): string {
  return `import http from 'node:http'
${body}
http.createServer((request, response) => response.end('hello')).listen(${port}, '127.0.0.1')
console.log('web is process', process.pid)
`
}

/** A program that runs and does not listen. @param body further lines */
export function idle(body = ''): string {
  return `setInterval(() => {}, 1_000_000)
console.log('idle is process', process.pid)
${body}
`
}

/** A configuration with long time limits, so that nothing is killed on a slow machine. */
export function config(given: object): string {
  const value = { grace: 120_000, ...given }
  return `import { defineConfig } from '@elysia-microservices/cli'
export default defineConfig(${JSON.stringify(value, null, 2)})
`
}
