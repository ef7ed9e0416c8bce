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
