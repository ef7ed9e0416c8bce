/** Services of projects, as texts. Each prints the number of its process. */

/** One of our services. @param version what it prints */
export function service(name: string, port: number, version = 'v1'): string {
  return `import { microservice } from 'elysia-microservices'
const service = microservice({ name: '${name}', transport: 'tcp', port: ${port}, shutdownOn: ['SIGTERM'] })
  .message('${name}.version', () => '${version}')
await service.listen()
console.log('${name} ${version} is process', process.pid)
`
}

/** A Nest application's strategy, as Nest runs it. */
export function nestService(name: string, port: number): string {
  return `import { MicroserviceServer } from '@elysia-microservices/nestjs'
const strategy = new MicroserviceServer({ name: '${name}', port: ${port} })
strategy.addHandler('${name}.version', async () => 'v1')
strategy.listen((error) => { if (error) throw error })
process.once('SIGTERM', () => strategy.close())
`
}

/** Something that listens and is none of ours. @param body further lines */
export function web(port: number, body = ''): string {
  return `import http from 'node:http'
${body}
http.createServer((request, response) => response.end('hello')).listen(${port}, '127.0.0.1')
console.log('web is process', process.pid)
`
}

/** Runs, and listens nowhere. @param body further lines */
export function idle(body = ''): string {
  return `setInterval(() => {}, 1_000_000)
console.log('idle is process', process.pid)
${body}
`
}

/** A configuration. Nothing is killed because a machine is slow. */
export function config(given: object): string {
  const value = { grace: 120_000, ...given }
  return `import { defineConfig } from '@elysia-microservices/cli'
export default defineConfig(${JSON.stringify(value, null, 2)})
`
}
